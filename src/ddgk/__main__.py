"""`python -m ddgk` is `ddgk`."""

from ddgk.cli import main

if __name__ == "__main__":
    main()
