import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatewaySecrets } from '../../src/config/gateway-secrets.ts'

test('the secrets of a gateway are found by their keys, with the variables and the file', () => {
  const yaml = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: hmac, secret: ["\${NEW}", "\${OLD}"] } }
  post: { transport: email, imap: { host: "\${HOST}", user: clerk, pass: "\${PASSWORD}" }, smtp: { pass: "[secret]" } }
  open: { transport: webhook, path: /open, verify: { scheme: none } }
`
  const asRead = { yaml, files: [{ file: 'routes.yaml', yaml }], variables: [] }
  const file = 'routes.yaml'
  assert.deepEqual(gatewaySecrets(asRead, 'shop'), [
    { setting: 'verify.secret', variables: ['NEW', 'OLD'], file, line: 3 },
  ])
  assert.deepEqual(gatewaySecrets(asRead, 'post'), [
    { setting: 'imap.pass', variables: ['PASSWORD'], file, line: 4 },
    { setting: 'smtp.pass', variables: [], file, line: 4 },
  ])
  assert.deepEqual(gatewaySecrets(asRead, 'open'), [])
  assert.deepEqual(gatewaySecrets(asRead, 'none'), [])
})
