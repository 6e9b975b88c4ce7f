import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { Queue } from 'bullmq'
import { z } from 'zod'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'
import { startQueueWorker } from '../fixtures/queue-worker.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const value = z.object({ stringValue: z.string().optional() })
const exported = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: z.array(z.object({ key: z.string(), value })) }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              name: z.string(),
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              attributes: z.array(z.object({ key: z.string(), value: z.looseObject({}) })).default([]),
              status: z.looseObject({ code: z.number().optional() }).default({}),
            }),
          ),
        }),
      ),
    }),
  ),
})

/**
 * Starts a receiver of OTLP/HTTP. Returns the variables that name it, and the received spans with
 * their services.
 */
async function startReceiver(t: TestContext) {
  const bodies: string[] = []
  const { url, close } = await serveHttp(async (request, response) => {
    bodies.push(await text(request))
    response.setHeader('content-type', 'application/json').end('{}')
  })
  t.after(close)
  return {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    },
    spans: () =>
      bodies.flatMap((body) =>
        exported.parse(JSON.parse(body)).resourceSpans.flatMap(({ resource, scopeSpans }) => {
          const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue
          return scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ ...span, service })))
        }),
      ),
  }
}

test('one trace leads from the sender through accept, dispatch, a queue and its worker to the reply', {
  timeout: 300_000,
}, async (t) => {
  const redis = await startRedisServer()
  t.after(redis.stop)
  const receiver = await startReceiver(t)
  const { env } = receiver
  const worker = await startQueueWorker(redis.url, 'invoices', { ...env, OTEL_SERVICE_NAME: 'books' })
  t.after(worker.kill)
  const site = openSite({
    ownProcess: true,
    env,
    routes: `
queues: { redis: "${redis.url}" }
gateways:
  shop: { transport: webhook, path: /shop, respond: result, verify: { scheme: none } }
  orders: { transport: bullmq, queue: orders }
routes: [{ name: invoices, queue: invoices }]
`,
  })
  const daemon = await site.start()
  const [trace, sender] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
  const ask = async (headers: Record<string, string>) => {
    const response = await fetch(`${daemon.url}/shop`, { method: 'POST', body: 'invoice', headers })
    assert.match(await response.text(), /did invoice/)
  }
  const seen = (traceId: string) => receiver.spans().filter((span) => span.traceId === traceId)

  await ask({ traceparent: `00-${trace}-${sender}-01` })
  await until(() => seen(trace).length >= 6, 'the spans of the trace')
  const named = (name: string, of = 'trivium') =>
    seen(trace).find((span) => span.name.startsWith(name) && span.service === of)
  const [accepted, attempt, added, worked, sent] = [
    named('receive shop'),
    named('process invoices'),
    named('add invoices'),
    named('process', 'books'),
    named('send shop'),
  ]
  assert.deepEqual(
    [accepted, attempt, added, worked, sent].map((span) => span?.parentSpanId),
    [sender, accepted?.spanId, attempt?.spanId, added?.spanId, accepted?.spanId],
  )

  const other = trace.replaceAll('4', '5')
  const orders = new Queue('orders', { connection: { url: redis.url } })
  t.after(() => orders.close())
  const metadata = JSON.stringify({ traceparent: `00-${other}-${sender}-01` })
  await orders.add('order', { text: 'invoice' }, { telemetry: { metadata } })
  const inOther = (name: string) => seen(other).find((span) => span.name.startsWith(name))
  await until(() => inOther('receive orders') && inOther('process orders'), 'the trace of a job')
  assert.equal(inOther('process orders')?.parentSpanId, sender)
  assert.equal(inOther('receive orders')?.parentSpanId, inOther('process orders')?.spanId)

  // Without a header, the message begins the trace, and the daemon exports the last spans when it
  // ends.
  await ask({})
  await daemon.end('SIGTERM')
  const own = receiver.spans().find(({ name, traceId }) => name === 'receive shop' && traceId !== trace)
  assert.equal(own?.parentSpanId, undefined)
  assert.deepEqual(
    seen(own?.traceId ?? '')
      .filter(({ service, name }) => service === 'trivium' && /^(process|send)/.test(name))
      .map(({ parentSpanId }) => parentSpanId),
    [own?.spanId, own?.spanId],
  )
})

const MODEL_SKILL = `---
name: helper
description: Helps.
allowed-tools: echo
---
Answer :arg[text]
`
const ASK = `export default {
  description: 'asks others',
  async run({ args, manager }) {
    await (await fetch(process.env.ELSEWHERE)).text()
    await manager.invoke('event-emit', { topic: 'asked', type: 'question', data: {} })
    return manager.invoke('helper', { text: args.text })
  },
}`

test('a trace has the skill, its calls, the steps of a model and its tools, and requests by HTTP carry it', {
  timeout: 300_000,
}, async (t) => {
  const receiver = await startReceiver(t)
  const model = await startOpenAiServer([
    { calls: [{ name: 'echo', args: { text: 'tool says' } }], usage: { input: 11, output: 4 } },
    { text: 'Done.' },
  ])
  t.after(model.close)
  const requests: { path: string; traceparent: string }[] = []
  const elsewhere = await serveHttp((request, response) => {
    requests.push({ path: request.url ?? '', traceparent: String(request.headers.traceparent) })
    response.end('hello')
  })
  t.after(elsewhere.close)
  const push = (name: string, topic: string) =>
    `  - { name: ${name}, topic: ${topic}, url: '${elsewhere.url}/${name}?key=hidden', allow-private: true, secret: whsec_${'A'.repeat(32)} }`
  const site = openSite({
    ownProcess: true,
    env: {
      ...receiver.env,
      ELSEWHERE: `${elsewhere.url}/elsewhere?key=hidden`,
      TRIVIUM_TRACE_URL: 'https://traces.example/trace/{traceId}',
    },
    skills: { ask: ASK },
    routes: `
gateways: { shop: { transport: webhook, path: /shop, respond: result, verify: { scheme: none } } }
model: { name: "openai-compatible:tiny", base-url: "${model.url}", api-key: test-key-123456 }
subscriptions:
${push('crm', 'gateway-message')}
${push('bi', 'asked')}
routes: [{ name: all, skill: ask }]
`,
  })
  site.write('skills/helper/SKILL.md', MODEL_SKILL)
  const daemon = await site.start()
  const [trace, sender] = ['5bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
  const traceparent = `00-${trace}-${sender}-01`
  const answer = await daemon.post('/shop', 'please', { traceparent })
  const id = String(answer.headers.get('location') ?? Object(answer.body).id)

  const seen = () => receiver.spans().filter((span) => span.traceId === trace)
  const expected = [
    ...['receive shop', 'process all', 'skill ask', 'GET', 'skill event-emit', 'skill helper', 'chat tiny'],
    ...['POST', 'execute_tool echo', 'skill echo', 'send shop', 'push crm', 'push bi'],
  ]
  const missing = () => expected.filter((name) => !seen().some((span) => span.name === name))
  await until(() => missing().length === 0, 'the whole trace', 20_000).catch((error) => {
    throw new Error(`${missing()} are missing of ${seen().map(({ name }) => name)}`, { cause: error })
  })
  /** The names from the root of the trace to a span. */
  const pathTo = (span: { name: string; parentSpanId?: string | undefined }): string => {
    const parent = seen().find(({ spanId }) => spanId === span.parentSpanId)
    return parent ? `${pathTo(parent)} > ${span.name}` : span.name
  }
  const paths = new Set(seen().map(pathTo))
  const ask = 'receive shop > process all > skill ask'
  for (const path of [
    'receive shop > send shop',
    'receive shop > push crm > POST',
    'receive shop > push bi > POST',
    `${ask} > GET`,
    `${ask} > skill event-emit`,
    `${ask} > skill helper > invoke_agent tiny > step 1 > chat tiny > POST`,
    `${ask} > skill helper > invoke_agent tiny > step 1 > execute_tool echo > skill echo`,
  ])
    assert.ok(paths.has(path), `${path}\n${[...paths].join('\n')}`)
  const chat = seen().find(({ name }) => name === 'chat tiny')
  const tokens = chat?.attributes.find(({ key }) => key === 'gen_ai.usage.input_tokens')
  assert.equal(Number(tokens?.value.intValue), 11)
  assert.doesNotMatch(JSON.stringify(seen()), /hidden|please|tool says/)

  const spanIds = seen().map(({ spanId }) => spanId)
  for (const path of ['/elsewhere', '/crm', '/bi']) {
    const [, traceId, spanId = ''] =
      requests.find((one) => one.path.startsWith(path))?.traceparent.split('-') ?? []
    assert.deepEqual([traceId, spanIds.includes(spanId)], [trace, true], path)
  }
  const shown = Object(await daemon.invoke('message-show', { id }))
  assert.equal(shown.traceUrl, `https://traces.example/trace/${trace}`)

  // A call over HTTP continues the trace of its caller. Its span has the error.
  const own = trace.replaceAll('5', '6')
  await fetch(`${daemon.control}/v1/skills/message-show`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${daemon.token}`,
      'content-type': 'application/json',
      traceparent: `00-${own}-${sender}-01`,
    },
    body: '{"id":"none"}',
  })
  const failed = await until(
    () => receiver.spans().find(({ traceId }) => traceId === own),
    'the trace of a call',
  )
  assert.deepEqual([failed.name, failed.parentSpanId, failed.status.code], ['skill message-show', sender, 2])
  const type = failed.attributes.find(({ key }) => key === 'error.type')
  assert.equal(type?.value.stringValue, 'message_not_found')
})

test('a receiver of traces that is down causes a warning', { timeout: 300_000 }, async () => {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_EXPORTER_OTLP_TIMEOUT: '500',
  }
  const site = openSite({ ownProcess: true, env, routes: 'routes: [{ name: all, skill: echo }]' })
  const daemon = await site.start()
  await site.run(['message', 'cli', 'hello'])
  await until(() => daemon.output().includes('traces are lost'), 'the warning')
  assert.match(daemon.output(), /ECONNREFUSED/)
})
