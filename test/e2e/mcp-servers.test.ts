import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { objectsIn, pathGet } from '../../src/core/json.ts'
import { openSite } from '../fixtures/daemon.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'
import { until } from '../fixtures/until.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FILES_SERVER = join(ROOT, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js')
const HAND_SERVER = join(ROOT, 'test/fixtures/mcp-server.mjs')
const SECRET = 'a-secret-of-the-server'
const node = (...args: string[]) =>
  `command: ${JSON.stringify(process.execPath)}, args: ${JSON.stringify(args)}`

const routesWith = (dir: string, model: string, more = '') => `
gateways:
  chat: { transport: websocket, path: /ws }
routes:
  - { name: files, match: { prefix: read }, skill: reader }
  - { name: later, match: { prefix: later }, skill: files.read_text_file }
model: { name: 'local:test', base-url: '${model}', api-key: test-key-123456 }
mcp:
  files: { ${node(FILES_SERVER, dir)} }
  hand: { ${node(HAND_SERVER, join(dir, 'tools.json'))}, env: { HAND_TOKEN: ${SECRET} }, max-result: 20kb }
  mute: { ${node(HAND_SERVER, join(dir, 'mute.json'))}, timeout: 3s }
  gone: { command: no-such-program }
${more}`

const SKILL = `---
name: reader
description: Reads files.
allowed-tools: files.read_* nowhere.*
---
Read what is asked for.
`

const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more })
const WORDS = { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] }
const TOOLS = [
  tool('say', { inputSchema: WORDS }),
  ...['huge', 'large', 'cyrillic', 'junk', 'image', 'die', 'mutter'].map((name) => tool(name)),
  tool('die-again', { annotations: { readOnlyHint: true } }),
  tool('say it/now'),
  tool('say it now'),
]

describe('MCP servers over stdio', { timeout: 300_000 }, async () => {
  const site = openSite({ ownProcess: true, routes: '' })
  const model = await startOpenAiServer([
    { calls: [{ name: 'files__read_text_file', args: { path: join(site.dir, 'a.txt') } }] },
    { text: 'It says hello.' },
  ])
  after(() => model.close())
  site.write('routes.yaml', routesWith(site.dir, model.url))
  site.write('skills/reader/SKILL.md', SKILL)
  site.write('a.txt', 'hello')
  site.write('tools.json', JSON.stringify(TOOLS))
  site.write('mute.json', JSON.stringify([tool('silent')]))
  const daemon = await site.start()
  const fails = (name: string, args: object, expected: RegExp) =>
    assert.rejects(daemon.invoke(name, args), expected)
  const names = async () =>
    objectsIn(pathGet(await daemon.get('/v1/skills'), 'result')).map(({ name }) => String(name))

  test('offer their tools as skills, with schema, approval and a valid name', async () => {
    const known = await names()
    for (const name of ['files.write_file', 'hand.say', 'hand.say-it-now', 'hand.say-it-now-2'])
      assert.ok(known.includes(name), name)
    assert.deepEqual(await daemon.invoke('files.read_text_file', { path: join(site.dir, 'a.txt') }), {
      content: 'hello',
    })
    await fails('files.read_text_file', { path: 3 }, /skill_args_invalid.*path/)
    await fails('files.read_text_file', { path: '/etc/passwd' }, /mcp_failed.*Access denied/)
    const picture = pathGet(await daemon.invoke('hand.image'), 'attachments.0')
    assert.deepEqual(
      [pathGet(picture, 'name'), pathGet(picture, 'type'), pathGet(picture, 'size')],
      ['image-1.png', 'image/png', 5],
    )
    await fails('files.nothing', {}, /skill_not_found/)
    const writing = daemon.invoke('files.write_file', { path: join(site.dir, 'b.txt'), content: 'new' })
    const asked = await until(
      async () => objectsIn(await daemon.invoke('approval-list', {}))[0],
      'the request',
    )
    assert.match(String(asked.title), /^Run files.write_file: Create a new file/)
    await daemon.invoke('approval-decide', { id: asked.id, approve: true })
    await writing
    assert.equal(readFileSync(join(site.dir, 'b.txt'), 'utf8'), 'new')
  })

  test('are tools of a model under a name that providers accept', async () => {
    const { send, next, close } = await daemon.chat()
    send({ text: 'read a.txt' })
    assert.equal((await next('message')).text, 'It says hello.')
    close()
    const offered = model.requests[0]?.tools ?? []
    assert.ok(offered.length > 2 && offered.every((name) => name.startsWith('files__read_')), String(offered))
    assert.match(JSON.stringify(model.requests[1]?.messages), /hello/)
    const warning = /allowed-tools: there is no MCP server .{0,3}nowhere/
    await until(() => warning.test(daemon.output()), 'the warning')
  })

  test('that misbehave fail within their limits, with the reason', async () => {
    assert.equal(await daemon.invoke('hand.junk'), 'after the junk')
    for (const name of ['hand.large', 'hand.cyrillic'])
      await fails(name, {}, /mcp_failed.*over the limit of 20480 bytes/)
    await fails('mute.silent', {}, /skill_timeout.*3s/)
    await fails('hand.huge', {}, /mcp_unknown.*max-result/)
    assert.equal(await daemon.invoke('hand.say', { words: 'I am back' }), 'I am back')
    await fails('hand.die', {}, /mcp_unknown.*the disk is full \[secret\]/)
    await fails('hand.die-again', {}, /mcp_failed.*the disk is full/)
    await fails('hand.mutter', {}, /mcp_unknown.*x{990}\[secret\]/)
    await fails('gone.any', {}, /mcp_unavailable.*no command no-such-program; install it/)
    assert.equal(await daemon.invoke('hand.say', { words: 'again' }), 'again')
    assert.doesNotMatch(daemon.output(), new RegExp(SECRET.slice(0, 8)))
  })

  test('are in the output of status and doctor', async () => {
    const { out } = await site.run(['status'])
    assert.match(out, /MCP servers {2}4; gone .*no command no-such-program/)
    const doctor = await site.run(['doctor'])
    assert.match(doctor.out, /✓ +mcp files +\S+, .*; 14 tools/)
    assert.match(doctor.out, /✗ +mcp gone/)
  })

  test('are updated live, stay known while they are unavailable, and are removed with their entry', async () => {
    site.write('tools.json', JSON.stringify([...TOOLS.slice(1), tool('fresh')]))
    await until(async () => (await names()).includes('hand.fresh'), 'the new tool')
    assert.ok(!(await names()).includes('hand.say'))
    site.write(
      'routes.yaml',
      routesWith(site.dir, model.url)
        .replace(HAND_SERVER, `${HAND_SERVER}.gone`)
        .replace(/ {2}gone.*/, ''),
    )
    await until(
      async () => !/gone\.any/.test(String(await names())) && /Cannot find module/.test(daemon.output()),
      'the reload',
    )
    await daemon.end()
    site.write(
      'routes.yaml',
      routesWith(site.dir, model.url)
        .replace(/ {2}(gone).*/g, '')
        .replace(process.execPath, '/none/node'),
    )
    const next = await site.start()
    const status = objectsIn(pathGet(await next.get('/v1/status'), 'result.mcp'))
    assert.ok(status.some(({ name, ok }) => name === 'files' && ok === false))
    await assert.rejects(next.invoke('files.read_text_file', { path: 'a' }), /mcp_unavailable.*no command/)
    await assert.rejects(next.invoke('files.read_text_file', {}), /skill_args_invalid/)
    site.write(
      'routes.yaml',
      routesWith(site.dir, model.url)
        .replace(/ {2}(gone|files|hand|mute): .*/g, '')
        .replace(/.*later.*/, ''),
    )
    const isGone = () =>
      next
        .invoke('files.read_text_file', { path: 'a' })
        .catch((error: Error) => /skill_not_found/.test(error.message))
    await until(isGone, 'the end of its skills')
    await next.end()
  })
})
