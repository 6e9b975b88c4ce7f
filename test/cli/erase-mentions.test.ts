import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ADA = 'ada@example.com'

describe('messages of others that name a person', { timeout: 180_000 }, async () => {
  const site = openSite({
    routes: 'gateways: { desk: { transport: cli } }\nroutes: [{ name: all, skill: echo }]',
  })
  const daemon = await site.start()
  const message = (text: string, from: string) => site.run(['message', 'desk', text, '--from', from])
  await message('hello', ADA)
  await message(`a call with ${ADA}`, 'eve@example.com')
  await message(`another call with ${ADA}`, 'dan@example.com')
  await message('nothing', 'eve@example.com')

  test('are named by the count, with the command that erases them', async () => {
    const { out } = await site.run(['person', 'count', ADA])
    assert.match(out, /2 messages of others have ada@example\.com in the text\./)
    assert.match(out, /To erase them, too: `trivium message erase --naming ada@example\.com`/)
    const shown = await site.run(['person', 'show', ADA])
    assert.match(shown.out, /2 messages of others have ada@example\.com in the text\./)
  })

  test('are listed and counted by one command, and erased with --confirm', async () => {
    const listed = await site.run(['message', 'erase', '--naming', ADA])
    assert.doesNotMatch(listed.out, /Not counted|To erase them, too/)
    assert.match(listed.out, /^- \S+ .* desk .*another call with/m)
    assert.match(listed.out, /Nothing was erased; --confirm erases them\./)
    const erased = await site.run(['message', 'erase', '--naming', ADA, '--confirm', '--wait', '60s'])
    assert.match(erased.out, /done/)
    const again = await site.run(['message', 'erase', '--naming', ADA, '--confirm'])
    assert.match(again.out, /No message of others has ada@example\.com in its text\./)
    // Those of the person and of others stay.
    const left = Object(await daemon.invoke('message-search', {})).messages
    assert.deepEqual(
      left.map(({ text }: { text: string }) => text),
      ['nothing', 'hello'],
    )
  })

  test('an erasure of the person says how they are erased', async () => {
    const { out } = await site.run(['person', 'erase', ADA, '--confirm', '--wait', '60s'])
    assert.match(out, /`trivium message erase --naming ada@example\.com` lists and counts them\./)
  })

  test('the proof of an erasure is a page or JSON, without the person', async () => {
    const jobs = Object.values(Object(await daemon.invoke('job-list', {}))).map(Object)
    const { id } = jobs.find(({ target }: { target: { messages?: number } }) => target.messages === undefined)
    const page = await site.run(['job', 'show', id, '--output', '-'])
    assert.match(page.out, /<title>Proof of an erasure<\/title>/)
    assert.match(page.out, new RegExp(id))
    assert.doesNotMatch(page.out, /ada@example/)
    const file = join(site.dir, 'proof.json')
    const saved = await site.run(['job', 'show', id, '--output', file])
    assert.match(saved.out, /The proof is in .*proof\.json/)
    assert.equal(JSON.parse(await readFile(file, 'utf8')).id, id)
  })

  test('without ids and without a person, nothing is erased', async () => {
    const { code } = await site.run(['message', 'erase', '--confirm']).catch((error) => error)
    assert.notEqual(code, 0)
    await until(
      async () => Object(await daemon.invoke('message-search', {})).messages.length === 1,
      'the rest',
    )
  })
})
