"""What the tests of operation share."""
import pytest


@pytest.fixture
def model(request):
    return request.config.getoption("--model")
