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

const TWO = '{ id: "local:a", fallback: ["local:b"], retries: 1, timeout: 4s }'

/** The skill `helper` on a server whose script is for all models; `asked` are their names, in order. */
async function start(t: TestContext, answers: ModelAnswer[], model: string | null = TWO) {
  const server = await startOpenAiServer(answers)
  cleanup(t, () => server.close())
  const front = `allowed-tools: look${model ? `\nmodel: ${model}` : ''}`
  const folder = await createFolder(t, {
    'helper/SKILL.md': `---\nname: helper\ndescription: Helps\n${front}\n---\nGo.\n`,
  })
  const usage: ModelUsage[] = []
  const own = { name: 'local:a', fallback: ['local:c'], baseUrl: server.url, apiKey: 'key-1' }
  const loadMarkdown = createMarkdownLoader({
    sources: () => ({ env: {}, model: own }),
    onUsage: (one) => usage.push(one),
  })
  let looked = 0
  const skills = [skillOf(() => ++looked, { name: 'look' })]
  const { manager } = await startRuntime(t, { skills, manager: { folders: [folder], loadMarkdown } })
  return {
    manager,
    usage,
    looked: () => looked,
    asked: () => server.requests.map((request) => request.model),
  }
}

const [busy, denied] = [
  { status: 529, message: 'overloaded' },
  { status: 401, message: 'wrong key' },
]

describe('the next model is asked', () => {
  const cases: [why: string, answers: ModelAnswer[], asked: string[], reason: RegExp][] = [
    ['where one refuses for good', [denied], ['a', 'b'], /wrong key/],
    ['where one is overloaded, also when asked again', [busy, busy], ['a', 'a', 'b'], /overloaded/],
    ['where the answer of one is no JSON', [{ garbage: true }], ['a', 'b'], /JSON/],
    ['where one breaks off before it says a word', [{ cut: '' }, { cut: '' }], ['a', 'a', 'b'], /./],
    ['where one is silent for its share of the time', [{ hang: true }], ['a', 'b'], /nothing for 2s/],
  ]
  for (const [why, answers, expected, reason] of cases) {
    test(why, async (t) => {
      const { manager, usage, asked } = await start(t, [...answers, { text: 'of another' }])
      const said: string[] = []
      const onModel = ({ text = '' }) => void said.push(text)
      assert.equal(await manager.invoke('helper', {}, { onModel }), 'of another')
      assert.equal(said.join(''), 'of another')
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

  test('where the provider of one has no key', async (t) => {
    const { manager, usage } = await start(t, [{ text: 'fine' }], '{ id: "openai:x", fallback: ["local:b"] }')
    assert.equal(await manager.invoke('helper'), 'fine')
    assert.match(usage[0]?.failed?.[0]?.reason ?? '', /set OPENAI_API_KEY/)
  })

  test('in the middle of a run, which stays with it and repeats no tool', async (t) => {
    const look = { calls: [{ name: 'look', args: {} }] }
    const { manager, asked, usage, looked } = await start(t, [look, denied, look, { text: 'done' }])
    assert.equal(await manager.invoke('helper'), 'done')
    assert.deepEqual(asked(), ['a', 'a', 'b', 'b'])
    assert.deepEqual([usage[0]?.steps, looked()], [3, 2])
  })

  test('of the configuration in place of the configured one, and of no other', async (t) => {
    const { manager, asked } = await start(t, [denied, { text: 'of c' }, denied], null)
    assert.equal(await manager.invoke('helper'), 'of c')
    await assert.rejects(manager.invoke('helper', {}, { model: 'local:own' }), { code: 'model_unusable' })
    assert.deepEqual(asked(), ['a', 'c', 'own'])
  })
})

describe('no other model is asked', () => {
  test('once something was said', async (t) => {
    const { manager, asked } = await start(t, [{ cut: 'half a sen' }, { text: 'again' }])
    await assert.rejects(manager.invoke('helper'), { code: 'model_failed' })
    assert.deepEqual(asked(), ['a'])
  })

  test('once all have failed: the error names each, and may pass where one of them may', async (t) => {
    const both = await start(t, [denied, denied])
    const message = /local:a: wrong key; local:b: wrong key/
    await assert.rejects(both.manager.invoke('helper'), { code: 'model_unusable', message })
    const one = await start(t, [busy, busy, denied])
    await assert.rejects(one.manager.invoke('helper'), {
      code: 'model_failed',
      message: /local:a: overloaded; local:b: wrong key/,
    })
    const none = await start(t, [], '{ id: "openai:x", fallback: ["anthropic:y"] }')
    await assert.rejects(none.manager.invoke('helper'), /OPENAI_API_KEY.*ANTHROPIC_API_KEY/)
  })

  test('once the invocation is cancelled', async (t) => {
    const { manager, asked } = await start(t, [{ hang: true }, { text: 'late' }])
    await assert.rejects(manager.invoke('helper', {}, { signal: AbortSignal.timeout(500) }))
    assert.deepEqual(asked(), ['a'])
  })
})
