import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import specs from '@asyncapi/specs'
import { Ajv, type AnySchema } from 'ajv'
import { default as formats } from 'ajv-formats'
import openapi from 'openapi-typescript'
import { openSite } from '../fixtures/daemon.ts'
import { temporaryDir } from '../fixtures/folder.ts'

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const run = promisify(execFile)

const CLIENT = `import createClient from 'openapi-fetch'
import type { paths } from './api.ts'

const headers = { authorization: \`Bearer \${process.env.TOKEN}\`, connection: 'close' }
const client = createClient<paths>({ baseUrl: String(process.env.TRIVIUM), headers })
const subscribed = await client.POST('/v1/skills/event-subscribe', { body: { topic: 'orders', queue: 'audit' } })
await client.POST('/v1/skills/event-emit', { body: { topic: 'orders', type: 'paid', data: { order: 7 } } })
const waited = await client.POST('/v1/skills/event-wait', { body: { topic: 'orders', queue: 'audit' } })
const refused = await client.POST('/v1/skills/event-ack', { body: { topic: 'orders', queue: 'nobody', ids: ['x'] } })
// @ts-expect-error The compiler finds a wrong name.
const wrong = await client.POST('/v1/skills/event-emit', { body: { topik: 'orders', data: 1 } })
console.log(JSON.stringify([subscribed.data, waited.data, refused.error, wrong.error]))
`

describe('the description of a daemon', () => {
  const site = openSite({
    // `state-get` without a key fails, so that the message becomes a dead letter.
    routes: `gateways: { chat: { transport: websocket, path: /ws } }
routes: [{ name: broken, match: { text: broken }, skill: state-get }, { name: all, skill: echo }]
`,
  })

  test('in AsyncAPI is valid, and fits its frames and events', async () => {
    const daemon = await site.start()
    const document = Object(await daemon.get('/asyncapi.json'))
    const ajv = new Ajv({ strict: false })
    // A CommonJS module: its function is the property `default` of its exports.
    formats.default(ajv)
    const isValid = ajv.compile(specs.schemasWithoutId['3.0.0'] as AnySchema)
    assert.ok(isValid(document), JSON.stringify(isValid.errors))
    const { messages } = document.components
    const fits = (name: string, value: unknown) => {
      const check = ajv.compile(messages[name].payload)
      assert.ok(check(value), `${JSON.stringify(value)}: ${JSON.stringify(check.errors)}`)
    }

    const chat = await daemon.chat(document.channels['gateway-chat'].address)
    const sent = { type: 'message', id: '1', text: 'hello' }
    fits('clientFrame', sent)
    chat.send(sent)
    for (const type of ['ack', 'message']) fits('serverFrame', await chat.next(type))
    fits('serverFrame', chat.all('welcome')[0])
    chat.send({ type: 'nothing' })
    fits('serverFrame', await chat.next('error'))
    chat.send({ type: 'message', id: '2', text: 'broken' })
    chat.close()
    await daemon.invoke('event-subscribe', { topic: 'gateway-message', queue: 'q', replay: true })
    const [event] = Object(await daemon.invoke('event-wait', { topic: 'gateway-message', queue: 'q' }))
    fits('event', event)
    fits('messageEvent', event)
    await daemon.invoke('event-subscribe', { topic: 'trivium-operations', queue: 'q', replay: true })
    const [problem] = Object(await daemon.invoke('event-wait', { topic: 'trivium-operations', queue: 'q' }))
    assert.equal(problem.type, 'dead-letter')
    fits('operationsEvent', problem)
    assert.equal(ajv.compile(messages.serverFrame.payload)({ type: 'ack' }), false)
    await daemon.end()
  })

  test('in OpenAPI generates a typed client that compiles and works', { timeout: 300_000 }, async () => {
    const daemon = await site.start()
    const dir = temporaryDir({ after })
    symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
    writeFileSync(join(dir, 'api.ts'), await openapi(Object(await daemon.get('/openapi.json'))))
    writeFileSync(join(dir, 'client.ts'), CLIENT)
    writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
    const compilerOptions = {
      strict: true,
      noEmit: true,
      module: 'nodenext',
      target: 'esnext',
      allowImportingTsExtensions: true,
      skipLibCheck: true,
      types: ['node'],
    }
    writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['client.ts'] }))
    const tsc = join(ROOT, 'node_modules', '.bin', 'tsc')
    await run(tsc, ['-p', dir]).catch((error) => assert.fail(error.stdout))
    const env = { ...process.env, TRIVIUM: daemon.control, TOKEN: daemon.token }
    const { stdout } = await run(process.execPath, [join(dir, 'client.ts')], { env })
    const [subscribed, waited, refused, wrong] = JSON.parse(stdout)
    assert.deepEqual(subscribed, { result: { topic: 'orders', queue: 'audit', created: true } })
    assert.deepEqual(waited.result[0].data, { order: 7 })
    assert.equal(refused.error.code, 'group_not_found')
    assert.equal(wrong.error.code, 'skill_args_invalid')
    await daemon.end()
  })
})
