"""A Scrapy spider that follows every link: scrapy runspider crawl_spider.py -a
start=URL. Its settings are Scrapy's own."""

import scrapy

from answer import answer, failure


class Spider(scrapy.Spider):
    name = "crawl"

    def __init__(self, start, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [start]

    def start_requests(self):
        for url in self.start_urls:
            yield scrapy.Request(url, self.parse, errback=self.failed)

    def parse(self, response):
        answer(response.url, response.status, "", [], response.body)
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse, errback=self.failed)

    def failed(self, failure_):
        failure(failure_.request.url, failure_.value)
