"""ddgk: how similar are these graphs, and which node corresponds to which?"""
