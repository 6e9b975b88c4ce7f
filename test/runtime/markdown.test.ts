import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import { pathGet } from '../../src/core/json.ts'
import type { Skill } from '../../src/core/skill.ts'
import { createMarkdownLoader } from '../../src/runtime/markdown/loader.ts'
import type { ModelUsage } from '../../src/runtime/markdown/run-skill.ts'
import { type ModelAnswer, type ModelRequest, startOpenAiServer } from '../fixtures/openai-server.ts'
import { until } from '../fixtures/until.ts'
import { createCallbackRef } from './support/callback.ts'
import { cleanup } from './support/cleanup.ts'
import { createFolder, writeIn } from './support/folder.ts'
import { skillOf } from './support/manager.ts'
import { messageOf } from './support/message.ts'
import { startRuntime } from './support/runtime.ts'

const skillFile = (body: string, front = 'model: local:small') =>
  `---\nname: helper\ndescription: Helps\n${front}\n---\n${body}\n`

const allowing = (tools: string) => skillFile('Go.', `model: local:m\nallowed-tools: ${tools}`)

/** A manager with the markdown skill `helper`. Its model gives `answers`, one per request. */
async function start(
  t: TestContext,
  text: string,
  answers: (ModelAnswer | ((request: ModelRequest) => ModelAnswer))[],
  { skills = [], model = 'local:config' }: { skills?: Skill[]; model?: string | null } = {},
) {
  const server = await startOpenAiServer(answers)
  cleanup(t, () => server.close())
  const folder = await createFolder(t, { 'helper/SKILL.md': text })
  const usage: ModelUsage[] = []
  const runtime = await startRuntime(t, {
    skills,
    manager: {
      folders: [folder],
      loadMarkdown: createMarkdownLoader({
        sources: () => ({
          env: {},
          ...(model && { model: { name: model, baseUrl: server.url, apiKey: 'key-1' } }),
        }),
        onUsage: (entry) => usage.push(entry),
      }),
    },
  })
  return { ...runtime, server, usage, folder }
}

describe('a markdown skill', () => {
  test('that another markdown skill calls as a tool streams nothing to the caller', async (t) => {
    const { manager, folder } = await start(t, skillFile('Ask.', 'model: local:m\nallowed-tools: expert'), [
      { calls: [{ name: 'expert', args: {} }] },
      { text: 'inner text' },
      { text: 'outer text' },
    ])
    const expert = skillFile('Know.').replace('name: helper', 'name: expert')
    await writeIn(folder, 'expert/SKILL.md', expert)
    await manager.reload()
    const words: string[] = []
    await manager.invoke('helper', {}, { onModel: ({ text = '' }) => words.push(text) })
    assert.equal(words.join(''), 'outer text')
  })

  test('without a model uses that of the route, or of the configuration', async (t) => {
    const text = skillFile('Answer.', 'license: MIT')
    const { manager, server } = await start(t, text, [{ text: '1' }, { text: '2' }])
    await manager.invoke('helper', {}, { model: 'local:route' })
    await manager.invoke('helper')
    assert.deepEqual(
      server.requests.map(({ model }) => model),
      ['route', 'config'],
    )
  })

  test('without any model fails with a hint', async (t) => {
    const { manager } = await start(t, skillFile('Answer.', 'license: MIT'), [], { model: null })
    const message = /set `model` in its front matter, on the route or in the configuration/
    await assert.rejects(manager.invoke('helper'), { code: 'model_missing', message })
  })

  test('fails with a hint if its provider has no key or is unknown', async (t) => {
    const { manager } = await start(t, skillFile('Answer.', 'license: MIT'), [])
    for (const [model, reason] of [
      ['anthropic:some', /set ANTHROPIC_API_KEY/],
      ['openai:some', /set OPENAI_API_KEY/],
      ['openai-compatible:some', /set OPENAI_COMPATIBLE_BASE_URL/],
      ['unknown:some', /no provider unknown \(known: anthropic, openai, openai-compatible, local\)/],
      ['some', /provider:model/],
    ] as const)
      await assert.rejects(manager.invoke('helper', {}, { model }), reason)
  })
})

describe('tools of a model', () => {
  const adder = skillOf((ctx) => Number(pathGet(ctx.args, 'a')) + Number(pathGet(ctx.args, 'b')), {
    name: 'add',
  })
  const secret = skillOf(() => 'secret', { name: 'secret' })

  test('are the skills in `allowed-tools`; operator skills only if their own names match', async (t) => {
    const cases: [frontMatter: string, tools: string[]][] = [
      ['allowed-tools: add', ['add']],
      ['allowed-tools: a* nothing', ['add']],
      ['allowed-tools: "*"', ['add', 'secret']],
      ['license: MIT', ['add', 'secret']],
      ['allowed-tools: "*, message-*"', ['add', 'message-list', 'secret']],
      ['allowed-tools: session-list', ['session-list']],
    ]
    const operatorSkills = ['message-list', 'session-list', 'gateway-receive', 'refused']
    const skills = [adder, secret, ...operatorSkills.map((name) => skillOf(() => 1, { name }))]
    for (const [front, expected] of cases) {
      const text = skillFile('Go.', `model: local:m\n${front}`)
      const { manager, server } = await start(t, text, [{ text: 'ok' }], { skills })
      await manager.invoke('helper')
      assert.deepEqual(server.requests[0]?.tools.toSorted(), expected)
    }
  })

  test('have schemas without alternatives at the top, which providers refuse', async (t) => {
    const args = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('mail'), to: z.string(), subject: z.string() }),
      z.object({ kind: z.literal('chat'), to: z.string() }),
    ])
    const notify = skillOf(() => 'sent', { name: 'notify', args })
    const intersection = z.object({ a: z.string() }).and(z.object({ b: z.number().optional() }))
    const merged = skillOf(() => 'x', { name: 'merged', args: intersection })
    const skills = [notify, merged, adder]
    const { manager, server } = await start(t, skillFile('Go.'), [{ text: 'ok' }], { skills })
    await manager.invoke('helper')
    const tools = pathGet(server.requests[0]?.body, 'tools')
    assert.ok(Array.isArray(tools))
    const schemas = tools.map((tool) => Object(tool).function)
    const parameters = Object.fromEntries(schemas.map((schema) => [schema.name, schema.parameters]))
    assert.deepEqual(Object.keys(parameters.notify).toSorted(), ['$schema', 'properties', 'required', 'type'])
    assert.deepEqual(parameters.notify.required, ['kind', 'to'])
    assert.deepEqual(
      parameters.notify.properties.kind.anyOf.map((kind: { const: string }) => kind.const),
      ['mail', 'chat'],
    )
    for (const name of ['to', 'subject'])
      assert.deepEqual(parameters.notify.properties[name], { type: 'string' })
    assert.equal(parameters.merged.type, 'object')
    assert.deepEqual(parameters.merged.required, ['a'])
    assert.deepEqual(Object.keys(parameters.merged.properties), ['a', 'b'])
  })

  test('see other conversations, directly or by a subscription, only if `allowed-tools` names the skill', async (t) => {
    const skills = ['event-wait', 'event-subscribe'].map((name) => {
      return skillOf(() => 'the tool ran', { name, args: z.looseObject({}) })
    })
    const all = { name: 'event-wait', args: { topic: 'gateway-message' } }
    const later = { name: 'event-subscribe', args: { topic: 'x', ref: 'dead-letter-drop' } }
    for (const [allowed, call, answer] of [
      ['"*"', all, /is not in allowed-tools/],
      ['event-*', all, /the tool ran/],
      ['"*"', later, /dead-letter-drop.*is not in allowed-tools/],
      ['event-*', later, /dead-letter-drop.*is not in allowed-tools/],
      ['event-* dead-letter-drop', later, /the tool ran/],
    ] as const) {
      const script = [{ calls: [call] }, { text: 'done' }]
      const { manager, server } = await start(t, allowing(allowed), script, { skills })
      await manager.invoke('helper')
      assert.match(JSON.stringify(server.requests[1]?.messages.at(-1)), answer)
    }
  })

  test('that take words cannot call skills that `allowed-tools` does not name', async (t) => {
    const words = [
      { name: 'delegate-work', prefixes: ['delegate'], ref: 'delegate' },
      { name: 'schedule', prefixes: ['schedule'], ref: 'schedule-in-words' },
    ]
    const skills = ['delegate', 'schedule-in-words', 'dead-letter-drop'].map((name) => {
      return skillOf(() => 'the tool ran', { name, args: z.looseObject({}) })
    })
    const callWith = (name: string, text: string) => ({ name, args: { text } })
    for (const [allowed, call, answer] of [
      [
        '"*"',
        callWith('delegate-work', 'delegate to dead-letter-drop: x'),
        /dead-letter-drop.*is not in allowed-tools/,
      ],
      ['"*"', callWith('delegate-work', 'to ada: x'), /the tool ran/],
      ['"*"', callWith('schedule', 'every day dead-letter-drop x'), /unavailable tool/],
      ['schedule', callWith('schedule', 'every day dead-letter-drop x'), /is not in allowed-tools/],
      ['"*, schedule"', callWith('schedule', 'every day x'), /the tool ran/],
    ] as const) {
      const script = [{ calls: [call] }, { text: 'done' }]
      const { manager, server, folder } = await start(t, allowing(allowed), script, { skills })
      await writeIn(folder, 'skills.json', JSON.stringify(words))
      await manager.reload()
      await manager.invoke('helper')
      assert.match(JSON.stringify(server.requests[1]?.messages.at(-1)), answer)
    }
  })

  test('run as skills; forbidden tools and invalid arguments are errors to the model, which continues', async (t) => {
    const n = z.strictObject({ n: z.number() })
    const strict = skillOf((ctx) => pathGet(ctx.args, 'n'), { name: 'strict', args: n })
    const { manager, server, usage } = await start(
      t,
      allowing('strict'),
      [
        { calls: [{ name: 'secret', args: {} }] },
        { calls: [{ name: 'strict', args: { n: 'one' } }] },
        { calls: [{ name: 'strict', args: { n: 17 } }] },
        { text: 'done' },
      ],
      { skills: [strict, secret] },
    )
    assert.equal(await manager.invoke('helper'), 'done')
    const [denied = '', invalid = '', valid = ''] = server.requests
      .slice(1)
      .map(({ messages }) => JSON.stringify(messages.at(-1)))
    assert.match(denied, /"role":"tool".*unavailable tool 'secret'/)
    assert.match(invalid, /Invalid arguments for skill [^ ]+: n: /)
    assert.match(valid, /"role":"tool".*17/)
    assert.equal(usage[0]?.inputTokens, 40)
    const warnings = manager.lines.filter(({ level }) => level === 'warn')
    assert.deepEqual(
      warnings.map(({ fields }) => pathGet(fields, 'tool')),
      ['secret', 'strict'],
    )
  })

  test('leave their answers in the usage, long ones cut so that an erasure finds a person in them', async (t) => {
    const long = `ada@mail.example ${'x'.repeat(5_000)}`
    const skills = [
      skillOf(() => ({ state: 'sent' }), { name: 'short' }),
      skillOf(() => long, { name: 'long' }),
      skillOf(() => null, { name: 'nothing' }),
    ]
    const script = [...skills.map(({ name }) => ({ calls: [{ name, args: {} }] })), { text: 'done' }]
    const { manager, usage } = await start(t, allowing('short long nothing'), script, { skills })
    await manager.invoke('helper')
    const [short, cut, nothing] = usage[0]?.tools ?? []
    assert.equal(short?.answer, '{"state":"sent"}')
    assert.match(cut?.answer ?? '', /^ada@mail\.example x+ \[\d+ characters omitted\]$/)
    assert.ok((cut?.answer ?? '').length <= 500)
    assert.equal(nothing?.answer, undefined)
  })

  test('that a person denies are logged as denied, not as failed', async (t) => {
    const refund = skillOf(
      () => {
        throw new TriviumError('approval_denied', { name: 'refund', reason: 'outside the 60 days' })
      },
      { name: 'refund' },
    )
    const script = [{ calls: [{ name: 'refund', args: {} }] }, { text: 'done' }]
    const { manager } = await start(t, allowing('refund'), script, { skills: [refund] })
    await manager.invoke('helper')
    const [warning] = manager.lines.filter(({ level }) => level === 'warn')
    assert.equal(warning?.message, 'a tool call of a model was denied')
  })

  test('include callbacks of the same invocation if `allowed-tools` names them', async (t) => {
    const outer = skillOf(
      async (ctx) => {
        const { ref, release } = await createCallbackRef(ctx, (args) => ({ got: args }), 'my-hook')
        ctx.globals.ref = ref
        const text = await ctx.manager.invoke('helper')
        await release()
        return { ref, text }
      },
      { name: 'outer' },
    )
    const { manager, server } = await start(
      t,
      allowing('my-hook-*'),
      [
        ({ tools }) => ({ calls: [{ name: tools[0] ?? '', args: { hello: 1 } }] }),
        { text: 'called' },
        { text: 'no tools' },
      ],
      { skills: [outer] },
    )
    const result = await manager.invoke('outer')
    assert.deepEqual(server.requests[0]?.tools, [pathGet(result, 'ref')])
    assert.equal(pathGet(result, 'text'), 'called')
    assert.match(JSON.stringify(server.requests[1]?.messages.at(-1)), /hello/)
    await manager.invoke('helper')
    assert.deepEqual(server.requests[2]?.tools, [], 'another invocation does not see them')
  })

  test('include a reader for the files in the folder of the skill, and for no others', async (t) => {
    const { manager, server, folder } = await start(t, allowing('none'), [
      { text: 'no files yet' },
      { calls: [{ name: 'read_skill_file', args: { path: 'references/tone.md' } }] },
      { calls: [{ name: 'read_skill_file', args: { path: '../../secret.txt' } }] },
      { text: 'done' },
    ])
    await manager.invoke('helper')
    await writeIn(folder, 'helper/references/tone.md', 'Be kind.')
    await writeIn(folder, 'secret.txt', 'hunter2')
    await manager.reload()
    await manager.invoke('helper')
    assert.deepEqual(
      server.requests.map(({ tools }) => tools),
      [[], ['read_skill_file'], ['read_skill_file'], ['read_skill_file']],
    )
    assert.match(JSON.stringify(server.requests[2]?.messages.at(-1)), /Be kind\./)
    const refused = JSON.stringify(server.requests[3]?.messages.at(-1))
    assert.match(refused, /has no file \.\.\/\.\.\/secret\.txt/)
    assert.doesNotMatch(refused, /hunter2/)
  })

  test('that need an approval suspend the dispatched skill', async (t) => {
    const guarded = skillOf(() => 'done', { name: 'guarded', metadata: { approval: true } })
    const answers = [{ calls: [{ name: 'guarded', args: {} }] }, { text: 'never' }]
    const { manager, server } = await start(t, allowing('guarded'), answers, { skills: [guarded] })
    const dispatched = { caller: { kind: 'route', id: 'a' }, message: messageOf() } as const
    await assert.rejects(manager.invoke('helper', {}, dispatched), { code: 'approval_pending' })
    assert.equal(server.requests.length, 1)
  })

  test('stop with model_limit at max-steps and at max-tokens', async (t) => {
    const endless = Array.from({ length: 10 }, () => ({ calls: [{ name: 'add', args: { a: 1, b: 1 } }] }))
    const requestsUntilLimit = async (model: string) => {
      const text = skillFile('Go.', `model: ${model}\nallowed-tools: add`)
      const { manager, server } = await start(t, text, endless, { skills: [adder] })
      await assert.rejects(manager.invoke('helper'), { code: 'model_limit' })
      return server.requests.length
    }
    assert.equal(await requestsUntilLimit('{ id: "local:m", max-steps: 3 }'), 3)
    assert.equal(await requestsUntilLimit('{ id: "local:m", max-tokens: 30 }'), 2)
    assert.equal(await requestsUntilLimit('{ name: "local:m", max-steps: 3 }'), 3, '`name` as in routes.yaml')
  })
})

describe('a provider that fails', () => {
  test('to answer in time ends with skill_timeout, and the connection is closed', async (t) => {
    const { manager, server } = await start(t, skillFile('Go.', 'model: { id: "local:m", timeout: 1s }'), [
      { hang: true },
    ])
    await assert.rejects(manager.invoke('helper'), { code: 'skill_timeout' })
    await until(() => server.aborted() === 1, 'the end of the connection')
  })

  const busy = { status: 503, message: 'busy' }
  const slowDown = { status: 429, message: 'slow down' }
  const cases: { title: string; answers: ModelAnswer[]; outcome: string; requests: number }[] = [
    { title: 'twice is retried', answers: [busy, slowDown, { text: 'fine' }], outcome: 'fine', requests: 3 },
    {
      title: 'three times is model_failed',
      answers: [busy, busy, busy],
      outcome: 'model_failed',
      requests: 3,
    },
    {
      title: 'permanently is model_unusable, without a retry',
      answers: [{ status: 401, message: 'no' }],
      outcome: 'model_unusable',
      requests: 1,
    },
    {
      title: 'by breaking off in the middle is model_failed',
      answers: [{ cut: 'half a sen' }],
      outcome: 'model_failed',
      requests: 1,
    },
    {
      title: 'with invalid JSON is model_failed',
      answers: [{ garbage: true }],
      outcome: 'model_failed',
      requests: 1,
    },
    {
      title: 'with an empty answer is model_failed',
      answers: [{ text: '' }],
      outcome: 'model_failed',
      requests: 1,
    },
    {
      title: 'with an endless answer is model_limit',
      answers: [{ endless: true }],
      outcome: 'model_limit',
      requests: 1,
    },
  ]
  for (const { title, answers, outcome, requests } of cases) {
    test(title, async (t) => {
      const { manager, server } = await start(t, skillFile('Go.'), answers)
      assert.equal(await manager.invoke('helper').catch((error: unknown) => pathGet(error, 'code')), outcome)
      assert.equal(server.requests.length, requests)
    })
  }
})

describe('a session that outgrows its max-tokens', () => {
  const TURNS = 9
  const front = (more: string) =>
    `model: local:m\nmetadata: { session: { key: args.sessionId, max-tokens: 200${more} } }`
  /** Sends `TURNS` long messages. Returns the prompt of each, and the requests for summaries. */
  const talk = async (t: TestContext, more: string, summaries: ModelAnswer[] = []) => {
    const summaryRequests: string[] = []
    const prompts: string[] = []
    const answer = ({ messages }: ModelRequest): ModelAnswer => {
      const text = JSON.stringify(messages)
      const isSummary = text.includes('Summarise this record')
      ;(isSummary ? summaryRequests : prompts).push(text)
      return isSummary
        ? (summaries[summaryRequests.length - 1] ?? { text: `sum ${summaryRequests.length}` })
        : { text: 'ok' }
    }
    const script = Array.from({ length: 40 }, () => answer)
    const { manager, usage } = await start(t, skillFile('Go.', front(more)), script)
    for (let turn = 0; turn < TURNS; turn++)
      await manager.invoke('helper', { text: `turn ${turn}. ${'word '.repeat(30)}`, sessionId: 's' })
    return { summaryRequests, prompts, usage, lines: manager.lines }
  }
  const turnsIn = (text = '') => [...text.matchAll(/turn (\d)/g)].map(([, turn]) => Number(turn))

  test('drops the oldest entries with a mark', async (t) => {
    const { summaryRequests, prompts } = await talk(t, '')
    assert.deepEqual(turnsIn(prompts.at(-1)), [6, 7, 8])
    assert.match(prompts.at(-1) ?? '', /\[6 older entries omitted\]/)
    assert.equal(summaryRequests.length, 0)
  })

  test('with `summarize` summarises the oldest entries, each time with the previous summary', async (t) => {
    const { summaryRequests, prompts, usage } = await talk(t, ', summarize: true')
    assert.ok(
      summaryRequests.length >= 2 && summaryRequests.length <= 5,
      `${summaryRequests.length} summaries`,
    )
    assert.deepEqual(turnsIn(summaryRequests[0]).slice(0, 2), [0, 1])
    assert.match(summaryRequests[1] ?? '', /sum 1/)
    assert.match(prompts.at(-1) ?? '', /summary of earlier entries/)
    assert.ok(prompts.at(-1)?.includes(`sum ${summaryRequests.length}`))
    const seenOnce = [...summaryRequests.flatMap(turnsIn), ...turnsIn(prompts.at(-1))]
    assert.deepEqual(seenOnce, [0, 1, 2, 3, 4, 5, 6, 7, 8])
    assert.equal(usage.length, summaryRequests.length + TURNS, 'the usage of summaries is counted')
  })

  test('drops the oldest entries with a warning if a summary fails, and summarises later ones', async (t) => {
    const { summaryRequests, prompts, lines } = await talk(t, ', summarize: true', [
      { status: 400, message: 'no' },
    ])
    assert.ok(prompts.some((prompt) => prompt.includes('older entries omitted')))
    assert.ok(summaryRequests.length > 1 && prompts.at(-1)?.includes('sum '))
    assert.equal(lines.filter(({ message }) => message.includes('could not be summarised')).length, 1)
  })
})
