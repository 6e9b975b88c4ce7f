import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanResult } from '../../src/cli/skill-output.ts'

const retry = { attempts: 5, backoff: 'exponential', delay: 1_000, maxDelay: 60_000 }

test('route list shows what each route matches, and when its pause ends', () => {
  const until = Date.parse('2030-01-02T11:56:00Z')
  const paused = { kind: 'route', since: 0, by: 'control-token:Ada', until, reason: 'busy' }
  const text = humanResult(
    'route-list',
    [
      { name: 'labels', match: { gateway: 'shop' }, target: 'skill', to: 'render-label', retry, paused },
      { name: 'rest', match: {}, target: 'skill', to: 'echo', retry, fallback: true },
    ],
    {},
    true,
  )
  assert.match(text, /^route +answers +match +state\n/)
  assert.match(
    text,
    /labels +skill render-label +gateway: shop +paused until 2030-01-02 11:56 UTC by .*: busy/,
  )
  assert.match(text, /rest +skill echo +what no other route takes/)
})
