import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findTroubles } from '../../src/features/troubles/find-troubles.ts'
import { refusalTroubles } from '../../src/features/troubles/refusal-troubles.ts'

const SECRETS = [{ setting: 'imap.pass', variables: ['POST_PASSWORD'], file: 'routes.yaml' }]
const READINGS = {
  store: { ok: true, address: 'data' },
  disk: undefined,
  draining: false,
  configuration: { ok: true, at: 0, goodAt: 0 },
  queues: [],
  mcp: [],
  broken: [],
  running: [],
  refusals: [],
  pauses: [],
  unrouted: [],
  stored: undefined,
  secretsOf: () => SECRETS,
}

test('a gateway whose login is rejected says which setting and variable to correct', () => {
  const todoOf = (detail: string) =>
    findTroubles({ ...READINGS, gateways: [{ name: 'post', ok: false, detail }] }, 0)[0]?.todo
  assert.equal(
    todoOf('INBOX cannot be read: Command failed: Password expired'),
    'Correct the login. The secret is `imap.pass` of gateway post in routes.yaml: the variable `POST_PASSWORD`, in .env or the environment. `trivium doctor` checks the gateway.',
  )
  for (const detail of [
    'connect ECONNREFUSED 127.0.0.1:1',
    'certificate has expired',
    'getaddrinfo ENOTFOUND accounts.example.com',
    'the connection to login.example.com timed out',
  ])
    assert.doesNotMatch(todoOf(detail) ?? '', /imap\.pass/, detail)
})

test('a gateway that refuses deliveries because of its secret says where the secret is', () => {
  const minutes = {
    gateway: 'shop',
    reason: 'signature_invalid',
    count: 20,
    accepted: 0,
    sinceGood: 20,
    inARow: 20,
    acceptedAfter: 0,
  }
  const why = [{ name: 'its signature does not match', count: 20, total: 20 }]
  const count = {
    ...minutes,
    total: { refused: 20, accepted: 0 },
    since: 0,
    last: 1,
    lastGoodAt: 0,
    why,
    from: [],
    earlier: [],
  }
  const secret = { setting: 'verify.secret', variables: ['SHOP_SECRET'], file: 'routes.yaml' }
  const [found] = refusalTroubles([count], 1_000, () => [secret])
  assert.match(
    found?.todo ?? '',
    /^The secret is `verify\.secret` of gateway shop .* the variable `SHOP_SECRET`/,
  )
})
