import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { z } from 'zod'
import { pathGet } from '../../src/core/json.ts'
import type { Skill } from '../../src/core/skill.ts'
import { createMcpHttp } from '../../src/skills/mcp/server.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from './support/cleanup.ts'
import { skillOf } from './support/manager.ts'
import { startRuntime } from './support/runtime.ts'

/** Serves the skills; resolves to the address of `/mcp`. */
async function serve(t: TestContext, skills: Skill[] = []): Promise<URL> {
  const { manager } = await startRuntime(t, { skills })
  const mcp = createMcpHttp({ manager, version: '1' })
  const { url, close } = await serveHttp((request, response) =>
    mcp.handle(request, response, { kind: 'mcp' }),
  )
  cleanup(t, close)
  cleanup(t, () => mcp.close())
  return new URL(`${url}/mcp`)
}

async function connect(t: TestContext, skills: Skill[]): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(await serve(t, skills)))
  cleanup(t, () => client.close())
  return client
}

const textOf = (result: unknown) => pathGet(result, 'content.0.text')

describe('MCP over HTTP', () => {
  test('tells errors with their code', async (t) => {
    const client = await connect(t, [])
    const wrong = await client.callTool({ name: 'state-get', arguments: { kee: 'a' } })
    assert.equal(wrong.isError, true)
    assert.match(String(textOf(wrong)), /"skill_args_invalid".*key/)
  })

  test('each call is an invocation of its own', async (t) => {
    const client = await connect(t, [skillOf((ctx) => ctx.call.rootId)])
    const ids = [
      textOf(await client.callTool({ name: 'subject', arguments: {} })),
      textOf(await client.callTool({ name: 'subject', arguments: {} })),
    ]
    assert.match(String(ids[0]), /^mcp-/)
    assert.notEqual(ids[0], ids[1])
  })

  test('a wait ends before clients give up, unless the call says how long', async (t) => {
    const args = z.object({ timeout: z.number().default(60_000) })
    const client = await connect(t, [skillOf((ctx) => ctx.args, { args })])
    const call = (given: object) => client.callTool({ name: 'subject', arguments: { ...given } })
    assert.deepEqual((await call({})).structuredContent, { timeout: 50_000 })
    assert.deepEqual((await call({ timeout: 90_000 })).structuredContent, { timeout: 90_000 })
  })

  test('a cancelled call aborts the skill', async (t) => {
    const started = Promise.withResolvers<AbortSignal>()
    const skill = skillOf(({ signal }) => {
      started.resolve(signal)
      return new Promise(() => {})
    })
    const client = await connect(t, [skill])
    const controller = new AbortController()
    const { signal } = controller
    const rejected = assert.rejects(
      client.callTool({ name: 'subject', arguments: {} }, undefined, { signal }),
    )
    const seen = await started.promise
    controller.abort()
    await rejected
    await until(() => seen.aborted, 'the skill to be aborted')
  })

  test('tells a client of an unknown session to begin anew', async (t) => {
    const url = await serve(t)
    const ask = (headers: Record<string, string>, method: string) => fetch(url, { method, headers })
    assert.equal((await ask({ 'mcp-session-id': 'gone' }, 'POST')).status, 404)
    assert.equal((await ask({}, 'GET')).status, 400)
  })
})
