"""Read graphs: files and folders, data sets and networks by name, synthetic graphs."""

from ddgk.io.catalogue import DATASETS, NETWORKS, DatasetInfo, NetworkInfo
from ddgk.io.dataset import Dataset, ReadReport
from ddgk.io.files import read
from ddgk.io.loading import get, load
from ddgk.io.mutations import family, mutate
from ddgk.io.networks import karate_club, load_network
from ddgk.io.storage import cache_folder, data_folder
from ddgk.io.summary import Listing, Summary, describe, list_datasets
from ddgk.io.synthetic import FAMILIES, Family, barbell
from ddgk.io.tu import read_tu

__all__ = [
    "DATASETS",
    "FAMILIES",
    "NETWORKS",
    "Dataset",
    "DatasetInfo",
    "Family",
    "Listing",
    "NetworkInfo",
    "ReadReport",
    "Summary",
    "barbell",
    "cache_folder",
    "data_folder",
    "describe",
    "family",
    "get",
    "karate_club",
    "list_datasets",
    "load",
    "load_network",
    "mutate",
    "read",
    "read_tu",
]
