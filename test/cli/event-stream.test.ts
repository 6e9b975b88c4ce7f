import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readStream } from '../../src/cli/stream.ts'
import { openSite } from '../fixtures/daemon.ts'

test('a fault of the reader of the event stream ends it, and is not reported as an outage', async () => {
  const site = openSite({ routes: 'routes: [{ name: rest, skill: echo, fallback: true }]' })
  await site.start()
  const stop = new AbortController()
  const fault = new Error('the output is closed')
  const outages: string[] = []
  const reader = {
    event() {
      throw fault
    },
    onBreak(reason: string) {
      outages.push(reason)
      stop.abort()
    },
  }
  const environs = { env: {}, cwd: site.dir, version: '0.0.0' }
  await assert.rejects(readStream(environs, {}, reader, stop.signal), fault)
  assert.deepEqual(outages, [])
})
