import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { messageEventSchema } from '../../src/core/event.ts'
import { parseJson } from '../../src/core/json.ts'
import { blocksOf, placeOf } from '../docs/blocks.ts'
import { shapeProblem } from '../docs/json-shape.ts'
import { createSite } from '../fixtures/daemon.ts'

const ROUTES = `
gateways:
  chat: { transport: websocket, path: /ws }
  jobs: { transport: webhook, path: /hooks/jobs, verify: { scheme: none }, respond: result, timeout: 4m }
  deaf: { transport: webhook, path: /hooks/deaf, verify: { scheme: none } }
routes:
  - { name: hello@cli, match: { gateway: cli, text: hello }, skill: echo }
  - { name: deaf, match: { gateway: deaf }, skill: echo }
subscriptions:
  - { name: crm, topic: invoices, url: 'http://127.0.0.1:9/', allow-private: true, secret: whsec_${'A'.repeat(32)} }
`

/** A Bash function `curl` that appends each response to the file `answers-<block>`, as one line. */
const KEEP_ANSWERS = `
curl() {
  local body status=0
  body=$(command curl "$@") || status=$?
  { printf %s "$body" | tr -d '\\n'; echo; } >> "answers-$block"
  printf '%s\\n' "$body"
  return $status
}`

/** Submits a message without a route. The page searches for it. */
const SUBMIT_INVOICE = `
command curl "$api/v1/messages" -H "$auth" -H "$json" -d '{"gateway":"cli","text":"the invoice"}' > /dev/null
until command curl "$api/v1/skills/message-search" -H "$auth" -H "$json" -d '{"outcome":"unrouted"}' | grep -q invoice
do sleep 0.05; done
`

test('each call of docs/api.md works as it stands there, and its answer has the shape of the page', {
  timeout: 300_000,
}, async (t) => {
  const site = createSite({ routes: ROUTES })
  t.after(() => site.remove())
  const daemon = await site.start()
  site.write('.curlrc', 'fail-with-body\nsilent\n')
  const env = { PATH: process.env.PATH, HOME: site.dir, TRIVIUM: daemon.control }
  const blocks = blocksOf('docs/api.md').filter(({ language }) => ['sh', 'json'].includes(language))
  const calls = blocks.map(({ language, code }, at) => {
    const preparation = code.includes('"text":"invoice"') ? SUBMIT_INVOICE : ''
    return language === 'sh' ? `block=${at}\n${preparation}${code}` : ''
  })
  const code = ['set -euo pipefail', KEEP_ANSWERS, ...calls].join('\n')
  const { stdout } = await promisify(execFile)('bash', ['-c', code], {
    cwd: site.dir,
    env,
    maxBuffer: 10_000_000,
  })
  assert.match(stdout, /"text":"On it\.".*"text":"Done\."/)
  const documented = Object.keys(Object(await daemon.get('/openapi.json')).paths).filter(
    // Paths for browsers alone are on the page about signing in.
    (path) => !/skills.|mcp|\/session|\/auth\//.test(path),
  )
  for (const path of documented) assert.match(code, new RegExp(path.replace(/\{.*\}/, '[^/]+')))

  for (const [at, block] of blocks.entries()) {
    if (block.language !== 'json') continue
    // JSON on the page is the response of the block before it.
    const answers = readFileSync(join(site.dir, `answers-${at - 1}`), 'utf8')
      .trim()
      .split('\n')
    const problems = answers.map((answer) => shapeProblem(JSON.parse(block.code), parseJson(answer)))
    assert.ok(problems.includes(undefined), `${placeOf(block)}: ${problems}\n${answers.join('\n')}`)
  }
  await daemon.end()
})

describe('the example of an event', () => {
  for (const page of ['docs/events.md', 'docs/push.md']) {
    test(`in ${page} fits the schema of gateway-message`, () => {
      const [block] = blocksOf(page).filter(({ language }) => language === 'json')
      const [event] = [JSON.parse(block?.code ?? '')].flat()
      assert.deepEqual(messageEventSchema.parse(event), event)
    })
  }
})
