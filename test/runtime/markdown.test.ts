import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { z } from 'zod'
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

/** A manager with the markdown skill `helper`, whose model answers from the script. */
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
        onUsage: (one) => usage.push(one),
      }),
    },
  })
  return { ...runtime, server, usage, folder }
}

describe('a markdown skill', () => {
  test('that serves another model as a tool streams nothing to the listener', async (t) => {
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

  test('takes the model of the route, or the configuration, where it names none', async (t) => {
    const text = skillFile('Answer.', 'license: MIT')
    const { manager, server } = await start(t, text, [{ text: '1' }, { text: '2' }])
    await manager.invoke('helper', {}, { model: 'local:route' })
    await manager.invoke('helper')
    assert.deepEqual(
      server.requests.map(({ model }) => model),
      ['route', 'config'],
    )
  })

  test('without a model fails with what to set', async (t) => {
    const { manager } = await start(t, skillFile('Answer.', 'license: MIT'), [], { model: null })
    const message = /set `model` in its front matter, on the route or in the configuration/
    await assert.rejects(manager.invoke('helper'), { code: 'model_missing', message })
  })

  test('with a provider that lacks its key or is unknown says what to set', async (t) => {
    const { manager } = await start(t, skillFile('Answer.', 'license: MIT'), [])
    for (const [model, reason] of [
      ['anthropic:some', /set ANTHROPIC_API_KEY/],
      ['openai:some', /set OPENAI_API_KEY/],
      ['openai-compatible:some', /set OPENAI_COMPATIBLE_BASE_URL/],
      ['nobody:some', /no provider nobody \(known: anthropic, openai, openai-compatible, local\)/],
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

  test('are exactly the skills that allowed-tools names, without the skill itself', async (t) => {
    const cases: [string, string[]][] = [
      ['allowed-tools: add', ['add']],
      ['allowed-tools: a* nothing', ['add']],
      ['allowed-tools: "*"', ['add', 'secret']],
      ['license: MIT', ['add', 'secret']],
      ['allowed-tools: "*, message-*"', ['add', 'message-list', 'secret']],
      ['allowed-tools: session-list', ['session-list']],
    ]
    const seesAll = ['message-list', 'session-list', 'gateway-receive', 'refused']
    const skills = [adder, secret, ...seesAll.map((name) => skillOf(() => 1, { name }))]
    for (const [front, expected] of cases) {
      const text = skillFile('Go.', `model: local:m\n${front}`)
      const { manager, server } = await start(t, text, [{ text: 'ok' }], { skills })
      await manager.invoke('helper')
      assert.deepEqual(server.requests[0]?.tools.toSorted(), expected)
    }
  })

  test('have no alternatives at the top of their schemas, which providers refuse', async (t) => {
    const args = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('mail'), to: z.string(), subject: z.string() }),
      z.object({ kind: z.literal('chat'), to: z.string() }),
    ])
    const tell = skillOf(() => 'told', { name: 'tell', args })
    const both = z.object({ a: z.string() }).and(z.object({ b: z.number().optional() }))
    const skills = [tell, skillOf(() => 'x', { name: 'plain', args: both }), adder]
    const { manager, server } = await start(t, skillFile('Go.'), [{ text: 'ok' }], { skills })
    await manager.invoke('helper')
    const tools = pathGet(server.requests[0]?.body, 'tools')
    assert.ok(Array.isArray(tools))
    const schemas = tools.map((tool) => Object(tool).function)
    const { tell: told, plain } = Object.fromEntries(schemas.map((one) => [one.name, one.parameters]))
    assert.deepEqual(Object.keys(told).toSorted(), ['$schema', 'properties', 'required', 'type'])
    assert.deepEqual(told.required, ['kind', 'to'])
    assert.deepEqual(
      told.properties.kind.anyOf.map((one: { const: string }) => one.const),
      ['mail', 'chat'],
    )
    assert.deepEqual([told.properties.to, told.properties.subject], [{ type: 'string' }, { type: 'string' }])
    assert.deepEqual(
      [plain.type, plain.required, Object.keys(plain.properties)],
      ['object', ['a'], ['a', 'b']],
    )
  })

  test('reach beyond the conversation, at once or by a subscription, only where allowed-tools names that', async (t) => {
    const skills = ['event-wait', 'event-subscribe'].map((name) => {
      return skillOf(() => 'it went through', { name, args: z.looseObject({}) })
    })
    const all = { name: 'event-wait', args: { topic: 'gateway-message' } }
    const later = { name: 'event-subscribe', args: { topic: 'x', ref: 'dead-letter-drop' } }
    for (const [allowed, call, answer] of [
      ['"*"', all, /is not in allowed-tools/],
      ['event-*', all, /it went through/],
      ['"*"', later, /dead-letter-drop.*is not in allowed-tools/],
      ['event-*', later, /dead-letter-drop.*is not in allowed-tools/],
      ['event-* dead-letter-drop', later, /it went through/],
    ] as const) {
      const script = [{ calls: [call] }, { text: 'done' }]
      const { manager, server } = await start(t, allowing(allowed), script, { skills })
      await manager.invoke('helper')
      assert.match(JSON.stringify(server.requests[1]?.messages.at(-1)), answer)
    }
  })

  test('go no further by words than by the skills that the words are for', async (t) => {
    const words = [
      { name: 'delegate-work', prefixes: ['delegate'], ref: 'delegate' },
      { name: 'schedule', prefixes: ['schedule'], ref: 'schedule-in-words' },
    ]
    const skills = ['delegate', 'schedule-in-words', 'dead-letter-drop'].map((name) => {
      return skillOf(() => 'it went through', { name, args: z.looseObject({}) })
    })
    const says = (name: string, text: string) => ({ name, args: { text } })
    for (const [allowed, call, answer] of [
      [
        '"*"',
        says('delegate-work', 'delegate to dead-letter-drop: x'),
        /dead-letter-drop.*is not in allowed-tools/,
      ],
      ['"*"', says('delegate-work', 'to ada: x'), /it went through/],
      ['"*"', says('schedule', 'every day dead-letter-drop x'), /unavailable tool/],
      ['schedule', says('schedule', 'every day dead-letter-drop x'), /is not in allowed-tools/],
      ['"*, schedule"', says('schedule', 'every day x'), /it went through/],
    ] as const) {
      const script = [{ calls: [call] }, { text: 'done' }]
      const { manager, server, folder } = await start(t, allowing(allowed), script, { skills })
      await writeIn(folder, 'skills.json', JSON.stringify(words))
      await manager.reload()
      await manager.invoke('helper')
      assert.match(JSON.stringify(server.requests[1]?.messages.at(-1)), answer)
    }
  })

  test('run as skills; what is not allowed, and wrong arguments, are errors to the model, which goes on', async (t) => {
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
    const [denied = '', wrong = '', right = ''] = server.requests
      .slice(1)
      .map(({ messages }) => JSON.stringify(messages.at(-1)))
    assert.match(denied, /"role":"tool".*unavailable tool 'secret'/)
    assert.match(wrong, /Invalid arguments for skill [^ ]+: n: /)
    assert.match(right, /"role":"tool".*17/)
    assert.equal(usage[0]?.inputTokens, 40)
    const warned = manager.lines.filter(({ level }) => level === 'warn')
    assert.deepEqual(
      warned.map(({ fields }) => pathGet(fields, 'tool')),
      ['secret', 'strict'],
    )
  })

  test('include the callbacks of the same invocation, where allowed-tools names them', async (t) => {
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

  test('include a reader for the files that came with the skill, and for no others', async (t) => {
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

  test('that need an approval park the dispatched skill', async (t) => {
    const guarded = skillOf(() => 'done', { name: 'guarded', metadata: { approval: true } })
    const answers = [{ calls: [{ name: 'guarded', args: {} }] }, { text: 'never' }]
    const { manager, server } = await start(t, allowing('guarded'), answers, { skills: [guarded] })
    const dispatched = { caller: { kind: 'route', id: 'a' }, message: messageOf() } as const
    await assert.rejects(manager.invoke('helper', {}, dispatched), { code: 'approval_pending' })
    assert.equal(server.requests.length, 1)
  })

  test('stop at max-steps and at max-tokens with model_limit', async (t) => {
    const endless = Array.from({ length: 10 }, () => ({ calls: [{ name: 'add', args: { a: 1, b: 1 } }] }))
    const limited = async (model: string) => {
      const text = skillFile('Go.', `model: ${model}\nallowed-tools: add`)
      const { manager, server } = await start(t, text, endless, { skills: [adder] })
      await assert.rejects(manager.invoke('helper'), { code: 'model_limit' })
      return server.requests.length
    }
    assert.equal(await limited('{ id: "local:m", max-steps: 3 }'), 3)
    assert.equal(await limited('{ id: "local:m", max-tokens: 30 }'), 2)
    assert.equal(await limited('{ name: "local:m", max-steps: 3 }'), 3, '`name` as in routes.yaml')
  })
})

describe('a provider that fails', () => {
  test('by silence ends at the timeout, and the connection is given up', async (t) => {
    const { manager, server } = await start(t, skillFile('Go.', 'model: { id: "local:m", timeout: 1s }'), [
      { hang: true },
    ])
    await assert.rejects(manager.invoke('helper'), { code: 'skill_timeout' })
    await until(() => server.aborted() === 1, 'the connection to be given up')
  })

  const busy = { status: 503, message: 'busy' }
  const cases: [string, ModelAnswer[], string, number][] = [
    [
      'for a moment is tried again',
      [busy, { status: 429, message: 'slow down' }, { text: 'at last' }],
      'at last',
      3,
    ],
    ['again and again is model_failed', [busy, busy, busy], 'model_failed', 3],
    [
      'for good is model_unusable, and not tried again',
      [{ status: 401, message: 'no' }],
      'model_unusable',
      1,
    ],
    ['by breaking off in the middle is model_failed', [{ cut: 'half a sen' }], 'model_failed', 1],
    ['by an answer that is no JSON is model_failed', [{ garbage: true }], 'model_failed', 1],
    ['by an answer with nothing in it is model_failed', [{ text: '' }], 'model_failed', 1],
    ['by an answer without an end is model_limit', [{ endless: true }], 'model_limit', 1],
  ]
  for (const [what, answers, outcome, requests] of cases) {
    test(what, async (t) => {
      const { manager, server } = await start(t, skillFile('Go.'), answers)
      assert.equal(await manager.invoke('helper').catch((error: unknown) => pathGet(error, 'code')), outcome)
      assert.equal(server.requests.length, requests)
    })
  }
})

describe('a session that outgrows its max-tokens', () => {
  const front = (more: string) =>
    `model: local:m\nmetadata: { session: { key: args.sessionId, max-tokens: 200${more} } }`
  /** Says `turn 0`, `turn 1`, … at some length, and gives the prompt of each turn. */
  const talk = async (t: TestContext, more: string, summaries: ModelAnswer[] = []) => {
    const asked: string[] = []
    const prompts: string[] = []
    const answer = ({ messages }: ModelRequest): ModelAnswer => {
      const text = JSON.stringify(messages)
      const isSummary = text.includes('Summarise this record')
      ;(isSummary ? asked : prompts).push(text)
      return isSummary ? (summaries[asked.length - 1] ?? { text: `sum ${asked.length}` }) : { text: 'ok' }
    }
    const script = Array.from({ length: 40 }, () => answer)
    const { manager, usage } = await start(t, skillFile('Go.', front(more)), script)
    for (let turn = 0; turn < 9; turn++)
      await manager.invoke('helper', { text: `turn ${turn}. ${'word '.repeat(30)}`, sessionId: 's' })
    return { asked, prompts, usage, lines: manager.lines }
  }
  const turnsIn = (text = '') => [...text.matchAll(/turn (\d)/g)].map(([, turn]) => Number(turn))

  test('drops the oldest entries with a mark', async (t) => {
    const { asked, prompts } = await talk(t, '')
    assert.deepEqual(turnsIn(prompts.at(-1)), [6, 7, 8])
    assert.match(prompts.at(-1) ?? '', /\[6 older entries omitted\]/)
    assert.equal(asked.length, 0)
  })

  test('summarises them where that is configured, each summary with the one before it', async (t) => {
    const { asked, prompts, usage } = await talk(t, ', summarize: true')
    assert.ok(asked.length >= 2 && asked.length <= 5, `${asked.length} summaries`)
    assert.deepEqual(turnsIn(asked[0]).slice(0, 2), [0, 1])
    assert.match(asked[1] ?? '', /sum 1/)
    assert.match(prompts.at(-1) ?? '', /summary of earlier entries/)
    assert.ok(prompts.at(-1)?.includes(`sum ${asked.length}`))
    const told = [...asked.flatMap((one) => turnsIn(one)), ...turnsIn(prompts.at(-1))]
    assert.deepEqual(told, [0, 1, 2, 3, 4, 5, 6, 7, 8], 'nothing is lost, and nothing told twice')
    assert.equal(usage.length, asked.length + 9, 'what a summary costs is counted')
  })

  test('leaves them out, with a line in the log, where the summary fails, and tries again', async (t) => {
    const { asked, prompts, lines } = await talk(t, ', summarize: true', [{ status: 400, message: 'no' }])
    const failed = prompts.find((prompt) => prompt.includes('older entries omitted'))
    assert.ok(failed)
    assert.ok(asked.length > 1 && prompts.at(-1)?.includes('sum '))
    assert.equal(lines.filter(({ message }) => message.includes('could not be summarised')).length, 1)
  })
})
