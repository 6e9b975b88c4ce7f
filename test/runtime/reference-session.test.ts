import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { type Json, pathGet } from '../../src/core/json.ts'
import type { Skill, SkillContext } from '../../src/core/skill.ts'
import { createMarkdownLoader } from '../../src/runtime/markdown/loader.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'
import { cleanup } from './support/cleanup.ts'
import { createFolder } from './support/folder.ts'
import { skillOf } from './support/manager.ts'
import { SHIPPED_FOLDER, startRuntime } from './support/runtime.ts'

// The statements of the section "Session" in the specification "Runtime Skills" (not in this
// repository), with its YAML. `prompt.test.ts` tests its section "Comment Stripping".

const SHORTHAND = `
# Shorthand — captures everything, in-memory storage
metadata:
  session: args.sessionId
`
const FULL = `
# Full form — team-scoped, file-backed, selective capture
metadata:
  session:
    key: args.teamId
    capture: [$args, $result]
    maxEntries: 100
    store: file
`
const PLACED = `
You are a helpful assistant.

:session-history[]

Answer based on the conversation above.
`
/**
 * A markdown skill `helper` whose model answers `answer 1`, `answer 2`, … `prompts` returns its
 * system prompts.
 */
async function startHelper(t: TestContext, metadata: string, body: string) {
  const answers = [1, 2, 3].map((n) => ({ text: `answer ${n}` }))
  const server = await startOpenAiServer(answers)
  cleanup(t, () => server.close())
  const file = `---\nname: helper\ndescription: Helps.\nmodel: local:small\n${metadata.trim()}\n---\n${body}`
  const folder = await createFolder(t, { 'helper/SKILL.md': file })
  const loadMarkdown = createMarkdownLoader({
    sources: () => ({ env: {}, model: { name: 'local:m', baseUrl: server.url, apiKey: 'k' } }),
  })
  const runtime = await startRuntime(t, { manager: { folders: [folder, SHIPPED_FOLDER], loadMarkdown } })
  const prompts = () =>
    server.requests.map(({ messages }) => String(messages.find(({ role }) => role === 'system')?.content))
  return { ...runtime, prompts }
}

/** A code skill with this session. By default it returns how many entries it remembers. */
async function startCode(t: TestContext, session: Json, run: Skill['run'] = remembered) {
  return startRuntime(t, { skills: [skillOf(run, { metadata: { session } })] })
}

const remembered = ({ locals }: SkillContext) => pathGet(locals, 'session.entries.length')

describe('session', () => {
  test('full form: team-scoped, file-backed, selective capture', async (t) => {
    const { manager, services, dataDir } = await startCode(t, parse(FULL).metadata.session)
    const MAX_ENTRIES = 100
    for (let n = 0; n <= MAX_ENTRIES; n++) await manager.invoke('subject', { teamId: 'red', n })
    assert.equal(await manager.invoke('subject', { teamId: 'blue' }), 0)
    const entries = await services.sessions.read({ name: 'subject', key: 'red', store: 'file' })
    assert.equal(entries.length, MAX_ENTRIES)
    assert.deepEqual(Object.keys(entries[0] ?? {}).toSorted(), ['args', 'at', 'dropped', 'result'])
    assert.equal(pathGet(entries.at(-1), 'args.n'), MAX_ENTRIES)
    const files = (await readdir(join(dataDir, 'sessions'))).filter((name) => name.endsWith('.json'))
    assert.equal(files.length, 2)
  })

  test('maxEntries is 50 by default: oldest entries dropped when exceeded', async (t) => {
    const { manager } = await startCode(t, 'args.sessionId')
    for (let n = 0; n < 52; n++) await manager.invoke('subject', { sessionId: 's' })
    assert.equal(await manager.invoke('subject', { sessionId: 's' }), 50)
  })

  test('max-entries is another spelling of maxEntries', async (t) => {
    const { manager } = await startCode(t, { key: 'args.sessionId', 'max-entries': 2 })
    for (let n = 0; n < 3; n++) await manager.invoke('subject', { sessionId: 's' })
    assert.equal(await manager.invoke('subject', { sessionId: 's' }), 2)
  })

  const keys: [path: string, args: object, nonlocals?: object][] = [
    ['args.sessionId', { sessionId: 'a' }],
    ['args.userId', { userId: 'a' }],
    ['args.teamId', { teamId: 'a' }],
    ['args.route.id', { route: { id: 'a' } }],
    ['nonlocals.request.headers.x-tenant-id', {}, { request: { headers: { 'x-tenant-id': 'a' } } }],
  ]
  for (const [path, args, nonlocals] of keys) {
    test(`the key is resolved via pathGet(ctx, path): ${path}`, async (t) => {
      const { manager } = await startCode(t, path)
      const options = nonlocals ? { nonlocals: { ...nonlocals } } : {}
      assert.equal(await manager.invoke('subject', args, options), 0)
      assert.equal(await manager.invoke('subject', args, options), 1)
      const [session] = Object(await manager.invoke('session-list', { store: 'memory' }))
      assert.equal(session.key, 'a')
    })
  }

  test('for markdown skills, session history is auto-prepended to the prompt with a static preamble', async (t) => {
    const { manager, prompts } = await startHelper(t, SHORTHAND, 'You are a helpful assistant.')
    for (const text of ['one', 'two', 'three']) await manager.invoke('helper', { sessionId: 's', text })
    const [first = '', second = '', third = ''] = prompts()
    const preamble = /What was said before in this conversation/
    assert.doesNotMatch(first, preamble)
    for (const prompt of [second, third]) {
      assert.ok(prompt.search(preamble) < prompt.indexOf('You are a helpful assistant.'))
      assert.match(prompt, preamble)
    }
  })

  test('when :session-history[] is present, auto-prepending is skipped and the directive places it', async (t) => {
    const { manager, prompts } = await startHelper(t, SHORTHAND, PLACED)
    for (const text of ['one', 'two']) await manager.invoke('helper', { sessionId: 's', text })
    const prompt = prompts()[1] ?? ''
    const order = ['You are a helpful assistant.', 'answer 1', 'Answer based on the conversation above.']
    const places = order.map((part) => prompt.indexOf(part))
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    )
    assert.ok(places.every((place) => place >= 0))
    assert.equal(prompt.split('answer 1').length - 1, 1)
    assert.doesNotMatch(prompt, /session-history/)
  })

  test('memory is an in-memory Map on globals, of process lifetime', async (t) => {
    const { manager } = await startCode(t, 'args.sessionId', ({ globals }) => globals.sessions)
    const sessions = await manager.invoke('subject', { sessionId: 's' })
    assert.ok(sessions instanceof Map)
    assert.deepEqual(
      [...sessions.values()].map(({ value: { name, session } }) => [name, session]),
      [['subject', 's']],
    )
  })

  test('file is JSON files that survive process restarts', async (t) => {
    const session = { key: 'args.sessionId', store: 'file' }
    const before = await startCode(t, session)
    await before.manager.invoke('subject', { sessionId: 's' })
    const folder = join(before.dataDir, 'sessions')
    const [file = ''] = (await readdir(folder)).filter((name) => name.endsWith('.json'))
    const { value, ...rest } = JSON.parse(await readFile(join(folder, file), 'utf8'))
    assert.equal(value.entries.length, 1)
    // The format of Trivium 0.1.
    await writeFile(join(folder, file), JSON.stringify({ ...rest, ...value }))
    await before.manager.close()
    before.services.close()
    const skills = [before.manager.get('subject')].filter((skill) => skill !== undefined)
    const later = await startRuntime(t, { skills, dataDir: before.dataDir })
    assert.equal(await later.manager.invoke('subject', { sessionId: 's' }), 1)
  })
})
