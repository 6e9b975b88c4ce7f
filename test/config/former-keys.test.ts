import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { readConfig } from '../../src/config/load-config.ts'
import { pathGet } from '../../src/core/json.ts'
import { transports } from '../../transports/registry.ts'
import { textsOf, writeConfig } from './given.ts'

const WITH_ROUTE = `
routes: [{ name: all, match: { gateway: team }, skill: echo }]
`

async function read(t: TestContext, text: string, env: Record<string, string> = {}) {
  return readConfig({ cwd: await writeConfig(t, text), env, transports })
}

describe('a former spelling of an option', () => {
  test('has the same effect, and a warning at its place', async (t) => {
    const text = `gateways:
  team:
    transport: slack
    mode: http
    signingSecret: shhh
    oauth:
      clientId: "1.2"
      clientSecret: "\${SECRET}"
${WITH_ROUTE}`
    const { config, problems } = await read(t, text, { SECRET: 'of-the-client' })
    const options = config?.gateways[0]?.options
    assert.deepEqual(pathGet(options, 'signing-secret'), ['shhh'])
    assert.equal(pathGet(options, 'oauth.client-id'), '1.2')
    assert.equal(pathGet(options, 'oauth.client-secret'), 'of-the-client')
    assert.deepEqual(textsOf(problems, 'warning'), [
      '5:5 `signingSecret` is now written `signing-secret`',
      '7:7 `clientId` is now written `client-id`',
      '8:7 `clientSecret` is now written `client-secret`',
    ])
  })

  test('has errors at its own place', async (t) => {
    const text = `gateways:
  team: { transport: slack, mode: socket, appToken: xapp-1, botToken: { a: 1 } }
${WITH_ROUTE}`
    const { problems } = await read(t, text)
    assert.deepEqual(
      textsOf(problems).map((line) => line.split(' ')[0]),
      ['2:71'],
    )
  })

  test('with an unset variable gives one error', async (t) => {
    const text = `gateways:
  team: { transport: slack, mode: socket, appToken: xapp-1, botToken: "\${BOT_TOKEN}" }
${WITH_ROUTE}`
    const { problems } = await read(t, text)
    assert.equal(textsOf(problems).length, 1)
    assert.match(textsOf(problems)[0] ?? '', /BOT_TOKEN/)
  })

  test('next to the new spelling is an unknown key', async (t) => {
    const text = `gateways:
  team: { transport: slack, mode: socket, app-token: xapp-1, bot-token: xoxb-1, botToken: xoxb-2 }
${WITH_ROUTE}`
    const { problems } = await read(t, text)
    assert.match(textsOf(problems).join('\n'), /unknown key "botToken"; did you mean "bot-token"\?/)
    assert.deepEqual(textsOf(problems, 'warning'), [])
  })
})
