threads 1, 5
workers ENV.fetch("WEB_CONCURRENCY") { 2 }
