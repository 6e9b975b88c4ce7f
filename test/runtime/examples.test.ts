import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type JsonObject, pathGet } from '../../src/core/json.ts'
import { createMarkdownLoader } from '../../src/runtime/markdown/loader.ts'
import fc from '../fixtures/fast-check.ts'
import { messageOf } from './support/message.ts'
import { startRuntime } from './support/runtime.ts'

describe('the skills in the package', () => {
  test('load without errors, and describe themselves and their arguments', async (t) => {
    const { manager } = await startRuntime(t, {
      manager: { loadMarkdown: createMarkdownLoader({ sources: () => ({ env: {} }) }) },
    })
    assert.deepEqual(manager.errors(), [])
    for (const { name, kind } of manager.list()) {
      const { description, args } = manager.describe(name)
      assert.ok(description.length > 10, name)
      if (kind !== 'code') continue
      for (const [arg, schema] of Object.entries(Object(args.properties ?? {}))) {
        assert.ok(pathGet(schema, 'description'), `${name} --${arg} has no description`)
      }
    }
  })

  test('have the documented defaults', async (t) => {
    const { manager } = await startRuntime(t)
    const defaultsOf = (name: string) => {
      const properties: object = Object(manager.describe(name).args.properties)
      const pairs = Object.entries(properties).map(([arg, schema]) => [arg, pathGet(schema, 'default')])
      return Object.fromEntries(pairs.filter(([, value]) => value !== undefined))
    }
    assert.deepEqual(defaultsOf('event-wait'), { timeout: 60_000, ack: true, max: 100 })
    assert.deepEqual(defaultsOf('gateway-receive'), { timeout: 60_000 })
    assert.deepEqual(defaultsOf('state-wait'), { timeout: 60_000, store: 'file' })
    assert.deepEqual(defaultsOf('state-get'), { store: 'file' })
  })
})

describe('summarize-push', () => {
  const push = {
    ref: 'refs/heads/main',
    pusher: { name: 'ada' },
    repository: { full_name: 'ada/engine' },
    compare: 'https://github.example/compare',
    commits: [
      { id: '0123456789', message: 'Add gears\n\nLong story', author: { name: 'Ada' } },
      { id: 'abcdef0123', message: 'Oil them' },
    ],
  }
  const summarize = async (t: TestContext, body: JsonObject) => {
    const { manager } = await startRuntime(t)
    return manager.invoke('summarize-push', {}, { message: messageOf({ data: { event: 'push', body } }) })
  }

  test('names the pusher, the branch and the commits', async (t) => {
    assert.equal(
      await summarize(t, push),
      'ada pushed 2 commits to main of ada/engine:\n- 0123456 Add gears (Ada)\n- abcdef0 Oil them\nhttps://github.example/compare',
    )
  })

  test('shows the last five of many commits', async (t) => {
    const commits = Array.from({ length: 8 }, (_, n) => ({ id: `${n}`, message: `m${n}` }))
    assert.match(String(await summarize(t, { ...push, commits })), /8 commits.*:\n… 3 more before\n- 3 m3\n/)
  })

  test('returns text for any message', async (t) => {
    const { manager } = await startRuntime(t)
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()), async (commits, rest) => {
        const body = JSON.parse(JSON.stringify({ ...rest, commits }))
        const message = messageOf({ data: { body } })
        assert.equal(typeof (await manager.invoke('summarize-push', {}, { message })), 'string')
      }),
      { numRuns: 50 },
    )
  })
})
