import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { pathGet } from '../../src/core/json.ts'
import { createMarkdownLoader } from '../../src/runtime/markdown/loader.ts'
import type { ModelUsage } from '../../src/runtime/markdown/run-skill.ts'
import { type ModelAnswer, startOpenAiServer } from '../fixtures/openai-server.ts'
import { cleanup } from './support/cleanup.ts'
import { createFolder } from './support/folder.ts'
import { skillOf } from './support/manager.ts'
import { startRuntime } from './support/runtime.ts'

const WITH_FALLBACK = '{ id: "local:a", fallback: ["local:b"], retries: 1, timeout: 4s }'

/**
 * The skill `helper` on a server that gives `answers` for all models. `asked` returns the names of
 * the models, in order.
 */
async function start(t: TestContext, answers: ModelAnswer[], model: string | null = WITH_FALLBACK) {
  const server = await startOpenAiServer(answers)
  cleanup(t, () => server.close())
  const front = `allowed-tools: look${model ? `\nmodel: ${model}` : ''}`
  const folder = await createFolder(t, {
    'helper/SKILL.md': `---\nname: helper\ndescription: Helps\n${front}\n---\nGo.\n`,
  })
  const usage: ModelUsage[] = []
  const configured = { name: 'local:a', fallback: ['local:c'], baseUrl: server.url, apiKey: 'key-1' }
  const loadMarkdown = createMarkdownLoader({
    sources: () => ({ env: {}, model: configured }),
    onUsage: (entry) => usage.push(entry),
  })
  let lookCalls = 0
  const skills = [skillOf(() => ++lookCalls, { name: 'look' })]
  const { manager } = await startRuntime(t, { skills, manager: { folders: [folder], loadMarkdown } })
  return {
    manager,
    usage,
    lookCalls: () => lookCalls,
    asked: () => server.requests.map((request) => request.model),
  }
}

const [busy, denied] = [
  { status: 529, message: 'overloaded' },
  { status: 401, message: 'wrong key' },
]

describe('the next model is asked', () => {
  const cases: [title: string, answers: ModelAnswer[], asked: string[], reason: RegExp][] = [
    ['if one fails permanently', [denied], ['a', 'b'], /wrong key/],
    ['if one is overloaded twice', [busy, busy], ['a', 'a', 'b'], /overloaded/],
    ['if the answer of one is not JSON', [{ garbage: true }], ['a', 'b'], /JSON/],
    ['if one breaks off before the first word', [{ cut: '' }, { cut: '' }], ['a', 'a', 'b'], /./],
    ['if one is silent for its share of the timeout', [{ hang: true }], ['a', 'b'], /nothing for 2s/],
  ]
  for (const [title, answers, expected, reason] of cases) {
    test(title, async (t) => {
      const { manager, usage, asked } = await start(t, [...answers, { text: 'of another' }])
      const streamed: string[] = []
      const onModel = ({ text = '' }) => void streamed.push(text)
      assert.equal(await manager.invoke('helper', {}, { onModel }), 'of another')
      assert.equal(streamed.join(''), 'of another')
      assert.deepEqual(asked(), expected)
      assert.equal(usage[0]?.model, 'local:b')
      assert.equal(usage[0]?.failed?.[0]?.model, 'local:a')
      assert.match(usage[0]?.failed?.[0]?.reason ?? '', reason)
      const lines = manager.lines.filter(({ message }) => /trying the next one/.test(message))
      assert.deepEqual(
        lines.map(({ fields }) => [pathGet(fields, 'model'), pathGet(fields, 'next')]),
        [['local:a', 'local:b']],
      )
    })
  }

  test('if the provider of one has no key', async (t) => {
    const { manager, usage } = await start(t, [{ text: 'fine' }], '{ id: "openai:x", fallback: ["local:b"] }')
    assert.equal(await manager.invoke('helper'), 'fine')
    assert.match(usage[0]?.failed?.[0]?.reason ?? '', /set OPENAI_API_KEY/)
  })

  test('in the middle of a run, which continues with it without repeating tools', async (t) => {
    const look = { calls: [{ name: 'look', args: {} }] }
    const { manager, asked, usage, lookCalls } = await start(t, [look, denied, look, { text: 'done' }])
    assert.equal(await manager.invoke('helper'), 'done')
    assert.deepEqual(asked(), ['a', 'a', 'b', 'b'])
    assert.deepEqual([usage[0]?.steps, lookCalls()], [3, 2])
  })

  test('from the configuration, but only for the model of the configuration', async (t) => {
    const { manager, asked } = await start(t, [denied, { text: 'of c' }, denied], null)
    assert.equal(await manager.invoke('helper'), 'of c')
    await assert.rejects(manager.invoke('helper', {}, { model: 'local:own' }), { code: 'model_unusable' })
    assert.deepEqual(asked(), ['a', 'c', 'own'])
  })
})

describe('no other model is asked', () => {
  test('after text was streamed', async (t) => {
    const { manager, asked } = await start(t, [{ cut: 'half a sen' }, { text: 'again' }])
    await assert.rejects(manager.invoke('helper'), { code: 'model_failed' })
    assert.deepEqual(asked(), ['a'])
  })

  test('after all failed; the error names each, and is retryable if one of them is', async (t) => {
    const allDenied = await start(t, [denied, denied])
    const message = /local:a: wrong key; local:b: wrong key/
    await assert.rejects(allDenied.manager.invoke('helper'), { code: 'model_unusable', message })
    const oneBusy = await start(t, [busy, busy, denied])
    await assert.rejects(oneBusy.manager.invoke('helper'), {
      code: 'model_failed',
      message: /local:a: overloaded; local:b: wrong key/,
    })
    const withoutKeys = await start(t, [], '{ id: "openai:x", fallback: ["anthropic:y"] }')
    await assert.rejects(withoutKeys.manager.invoke('helper'), /OPENAI_API_KEY.*ANTHROPIC_API_KEY/)
  })

  test('after the invocation is cancelled', async (t) => {
    const { manager, asked } = await start(t, [{ hang: true }, { text: 'late' }])
    await assert.rejects(manager.invoke('helper', {}, { signal: AbortSignal.timeout(500) }))
    assert.deepEqual(asked(), ['a'])
  })
})
