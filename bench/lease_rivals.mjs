// Pairs a second of node's redlock on one Redis: lease_rivals.mjs redlock URL SECONDS. Prints 0 when it is not installed (HF_NPM, else
// build/npm, is where it is looked for).
import { createRequire } from 'node:module'
const require = createRequire(`${process.env.HF_NPM ?? 'build/npm'}/`)
const [, , , url, seconds] = process.argv
let Redis, Redlock
try {
  Redis = require('ioredis')
  Redlock = require('redlock').default
} catch {
  console.log(0)
  process.exit(0)
}
const client = new Redis(url)
const redlock = new Redlock([client], { retryCount: 0 })
let count = 0
const start = performance.now()
while (performance.now() - start < seconds * 1000 || count === 0) {
  const lock = await redlock.acquire([`bench-${count % 1000}`], 10000)
  await lock.release()
  count++
}
console.log((count * 1000) / (performance.now() - start))
client.disconnect()
