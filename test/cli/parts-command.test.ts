import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

/**
 * Each use of a part has a variable that is not set, as in a shell without the variables of the
 * service.
 */
const ROUTES = `
gateways:
  team: { transport: slack, mode: socket, bot-token: "\${BOT_TOKEN}", app-token: "\${APP_TOKEN}" }
  chat: { transport: slack, mode: http, path: "\${CHAT_PATH}", bot-token: xoxb-1, signing-secret: "\${SIGNING}", enabled: auto }
  app: { transport: websocket, path: /app, jwt: { secret: "\${CHAT_SECRET}" } }
model: { name: "openai:gpt-5", api-key: "\${MODEL_KEY}" }
mcp:
  files: { url: "\${FILES_URL}", headers: { authorization: "Bearer \${FILES_TOKEN}" }, enabled: auto }
routes: [{ name: rest, skill: echo }]
`

describe('trivium parts', { timeout: 300_000 }, () => {
  test('lists the parts that routes.yaml needs although its variables are not set', async () => {
    const site = openSite({ routes: ROUTES })
    const { code, out, err } = await site.run(['parts', '--json'])
    assert.equal(code, 0, err)
    const needs = JSON.parse(out).parts.map(({ name, neededBy }: { name: string; neededBy: string[] }) => [
      name,
      neededBy,
    ])
    assert.deepEqual(Object.fromEntries(needs), {
      slack: ['gateway team', 'gateway chat'],
      model: ['`model`'],
      mcp: ['MCP server files'],
      queues: [],
      tracing: [],
    })
    assert.match((await site.run(['route', 'check'])).out, /the variable BOT_TOKEN is not set/)
  })

  test('reports an error that is not about a variable', async () => {
    const site = openSite({ routes: `${ROUTES}colour: red\n` })
    const { code, err } = await site.run(['parts'])
    assert.equal(code, 2)
    assert.match(err, /unknown key "colour"/)
    assert.doesNotMatch(err, /is not set/)
  })
})
