"""Where graphs come from: sets and networks by name, files, and graphs made here."""

from ddgk.datasets.catalogue import DATASETS, NETWORKS, DatasetInfo, NetworkInfo
from ddgk.datasets.dataset import Dataset
from ddgk.datasets.files import read
from ddgk.datasets.loading import get, load
from ddgk.datasets.mutations import family, mutate
from ddgk.datasets.networks import karate_club, load_network
from ddgk.datasets.storage import cache_folder, data_folder
from ddgk.datasets.summary import Listing, Summary, describe, list_datasets
from ddgk.datasets.synthetic import FAMILIES, Family, barbell
from ddgk.datasets.tu import read_tu

__all__ = [
    "DATASETS",
    "FAMILIES",
    "NETWORKS",
    "Dataset",
    "DatasetInfo",
    "Family",
    "Listing",
    "NetworkInfo",
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
