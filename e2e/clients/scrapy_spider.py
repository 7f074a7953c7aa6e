"""A Scrapy spider that does not look at robots.txt itself."""

import sys

import scrapy
from scrapy.crawler import CrawlerProcess

from answer import answer, failure, version_asked


class Spider(scrapy.Spider):
    name = "e2e"
    handle_httpstatus_all = True
    custom_settings = {
        "ROBOTSTXT_OBEY": False,
        "LOG_LEVEL": "WARNING",
        "RETRY_TIMES": 1,
        "DOWNLOAD_TIMEOUT": 30,
        "TELNETCONSOLE_ENABLED": False,
        "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
    }

    def start_requests(self):
        for url in sys.argv[1:]:
            yield scrapy.Request(
                url, self.parse, errback=self.failed, dont_filter=True,
                meta={"handle_httpstatus_all": True},
            )

    def parse(self, response):
        fields = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, values in response.headers.items()
            for value in values
        ]
        answer(response.url, response.status, "", fields, response.body)

    def failed(self, failure_):
        failure(failure_.request.url, failure_.value)


if not version_asked(scrapy.__version__):
    process = CrawlerProcess()
    process.crawl(Spider)
    process.start()
