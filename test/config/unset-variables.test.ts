import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { transports } from '../../transports/registry.ts'
import { read, textsOf } from './given.ts'

/** Gateways whose only fault is that the variable KEY is not set. */
const GATEWAYS = {
  'the secret of WebSocket tokens': 'transport: websocket, path: /ws, jwt: { secret: KEY }',
  'one of several secrets of WebSocket tokens':
    'transport: websocket, path: /ws, jwt: { secret: [KEY, "0123456789abcdef"] }',
  'the public key of WebSocket tokens': 'transport: websocket, path: /ws, jwt: { public-key: KEY }',
  'the key set of WebSocket tokens': 'transport: websocket, path: /ws, jwt: { jwks: KEY, audience: a }',
  'the secret of webhook tokens': 'transport: webhook, path: /in, verify: { scheme: jwt, secret: KEY }',
  'the encoded secret of webhook tokens':
    'transport: webhook, path: /in, verify: { scheme: jwt, secret: KEY, secret-encoding: base64 }',
  'the public key of webhook tokens':
    'transport: webhook, path: /in, verify: { scheme: jwt, public-key: KEY }',
  'the secret of GitHub': 'transport: webhook, path: /in, verify: { scheme: github, secret: KEY }',
  'the token of senders': 'transport: webhook, path: /in, verify: { scheme: bearer, secret: KEY }',
  'the signing secret of Slack':
    'transport: slack, mode: http, bot-token: xoxb-1, path: /slack, signing-secret: KEY',
  'the password of a mailbox':
    'transport: email, address: a@example.com, imap: { host: h, user: u, pass: KEY }, smtp: { host: h }',
}

describe('a variable that is not set', () => {
  for (const [what, options] of Object.entries(GATEWAYS)) {
    const given = options.replace('KEY', `"\${KEY}"`)
    test(`${what}: the error names the variable, and \`enabled: auto\` leaves the gateway out`, async (t) => {
      const { problems } = await read(t, `gateways:\n  app: { ${given} }\n`, { transports })
      assert.match(textsOf(problems).join('\n'), /^2:\d+ the variable KEY is not set[^\n]*$/)
      const optional = `gateways:\n  app: { ${given}, enabled: auto }\n`
      const { config, problems: others } = await read(t, optional, { transports })
      assert.deepEqual(textsOf(others), [])
      assert.equal(config?.gateways.find(({ name }) => name === 'app')?.enabled, false)
    })
  }
})
