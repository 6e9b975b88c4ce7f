import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = `
gateways:
  desk: { transport: cli }
  payments: { transport: webhook, path: /payments, verify: { scheme: none }, from: data.body.email, from-name: data.body.name }
routes: [{ name: all, match: { gateway: desk }, skill: echo }, { name: quiet, skill: echo, reply: none }]
`
const ADA = 'ada@example.com'

describe('person export at the command line', { timeout: 120_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  await site.run(['message', 'desk', 'hello \u0085', '--from', ADA])
  const run = (...args: string[]) => site.run(['person', 'export', ADA, ...args])
  const exports = () => readdirSync(site.dir).filter((name) => /^person-.*\.jsonl$/.test(name))
  const placesIn = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).place)

  test('writes the data to a new file here, and prints its path and size', async () => {
    const first = await run()
    assert.equal(first.code, 0, first.err)
    const [name = ''] = exports()
    const path = join(site.dir, name)
    assert.ok(first.out.includes(path), first.out)
    assert.match(first.out, /\d+ records?, \d+ kB, to \//)
    assert.match(first.out, /keeps a copy until 20\d\d-.* UTC, or until the person is erased/)
    const places = placesIn(readFileSync(path, 'utf8'))
    assert.equal(places[0], 'export')
    assert.equal(places.at(-1), 'end')
    assert.equal(statSync(path).mode & 0o777, 0o600)
    await run()
    assert.equal(exports().length, 2)
  })

  test('--output names the file, and with --json the result has its path', async () => {
    const { out } = await run('--output', 'ada.jsonl', '--json')
    const { output, file } = JSON.parse(out)
    assert.equal(output, join(site.dir, 'ada.jsonl'))
    assert.equal(readFileSync(output).length, file.size)
  })

  test('--output - writes only the data to stdout', async () => {
    const { out, err } = await run('--output', '-')
    assert.ok(placesIn(out).includes('messages'))
    assert.match(err, /to stdout/)
    // A terminal would not get this control character, but the hash at the end has it.
    assert.ok(out.includes('\u0085'))
  })

  test('--format html is a page to read: messages and answers, escaped, without scripts', async () => {
    await site.run(['message', 'desk', 'see <img src=x onerror=alert(1)> & <b>me</b>', '--from', ADA])
    const { out } = await run('--format', 'html')
    const [, path = ''] = /to (\/.*person-ada@example\.com-[\d-]+\.html)$/m.exec(out) ?? []
    const page = readFileSync(path, 'utf8')
    assert.match(page, /<title>Data about ada@example\.com<\/title>/)
    assert.match(page, /you · on desk<\/p><p class="said">see &lt;img src=x onerror=alert\(1\)&gt; &amp;/)
    assert.match(page, /we · on desk<\/p><p class="said">You said: see &lt;img/)
    assert.doesNotMatch(page, /<(img|script|b>me)/)
    assert.match(page, /default-src 'none'/)
    assert.ok(page.indexOf('hello') < page.indexOf('see &lt;'))
  })

  test('the page names the person, tells events of machines from their texts, and explains each part', async () => {
    const body = { email: 'bo@example.com', name: 'Bo Lind', charge: 12 }
    await daemon.post('/payments', JSON.stringify(body), { 'content-type': 'application/json' })
    await site.run(['message', 'desk', 'my charge', '--from', 'bo@example.com', '--conversation', 'bo'])
    await daemon.invoke('conversation-note', {
      ...{ gateway: 'desk', conversation: 'bo', text: 'Bo pays by card.' },
    })
    const { out } = await site.run([
      'person',
      'export',
      'bo@example.com',
      '--format',
      'html',
      '--output',
      '-',
    ])
    assert.match(out, /<title>Data about Bo Lind \(bo@example\.com\)<\/title>/)
    assert.match(out, /<article class="event"><p class="about">[^<]* UTC · from payments<\/p>/)
    assert.doesNotMatch(out, /you · on payments/)
    assert.match(out, /<td>transcript<\/td><td>the record of what was said/)
    const [, notes = ''] =
      /<h2>conversation notes<\/h2>\n<p class="about">notes of colleagues[^<]*<\/p>(.*)/s.exec(out) ?? []
    assert.match(notes, /&quot;at&quot;: &quot;20\d\d-\d\d-\d\d \d\d:\d\d UTC&quot;/)
  })

  test('--json alone gives the receipt, and writes no file here', async () => {
    const before = exports().length
    const { out } = await run('--json')
    assert.ok(JSON.parse(out).file.path)
    assert.equal(exports().length, before)
  })

  test('a file that cannot be written is an error that names it, and the daemon makes no export', async () => {
    const kept = async () =>
      Object(await daemon.invoke('person-count', { identity: [`*:${ADA}`], wait: 5_000 })).exports
    const before = await kept()
    const { code, err } = await run('--output', 'no/such/ada.jsonl')
    assert.equal(code, 1)
    assert.match(err, /no\/such\/ada\.jsonl cannot be written: .*Nothing was changed/s)
    assert.deepEqual(await kept(), before)
  })
})
