import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { temporaryDir } from '../fixtures/folder.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.email, text: data.body.text, conversation: data.body.email }
  support: { transport: websocket, path: /support, open: true }
  team: { transport: websocket, path: /team, open: true }
routes:
  - { name: refunds, match: { prefix: refund }, skill: refund, reply: none }
  - { name: ships, match: { prefix: ship }, skill: ship, retry: { attempts: 1 } }
  - { name: all, skill: later }
`
const SKILLS = {
  refund: `export default { description: 'pays back', metadata: { approval: { title: 'Refund {text}' } }, run: () => 'paid' }`,
  ship: `export default { description: 'ships', run: () => { throw new Error('backend answered 500') } }`,
  later: `export default { description: 'writes later', async run({ manager }) {
    await manager.invoke('gateway-send', { text: 'How was it?', in: '2d' })
    return 'fine'
  } }`,
}
const PETRA = 'petra.novak@mail.example'

describe('person show', { timeout: 120_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()
  const run = (...args: string[]) => site.run(['person', 'show', ...args])
  const post = (text: string) => daemon.post('/shop', JSON.stringify({ email: PETRA, text }))
  const say = (gateway: string, from: string, text: string) =>
    site.run(['message', gateway, text, '--from', from, '--conversation', from, '--wait', '0'])
  await post('refund 12 EUR')
  await post('ship order 4890')
  await say('support', PETRA, 'hello')
  await say('team', 'U024BE7LH', 'hello')
  await say('support', 'petra.berg@mail.example', 'ship order 7')
  const { out: approvals } = await site.run(['approval', 'list', '--json'])
  await until(async () => /backend/.test((await run(PETRA)).out), 'the dead letter')

  test('has the gateways, the messages and what is open, failures first, with the commands', async () => {
    const { out, code } = await run('petra', 'novak')
    assert.equal(code, 0)
    assert.match(out, /^identity +petra\.novak@mail\.example on every gateway$/m)
    assert.match(out, /^messages +3 \(.*2 on shop.*\)$/m)
    assert.match(out, /^first +20\d\d-/m)
    const [id] = JSON.parse(approvals).map((each: { id: string }) => each.id)
    const open = [
      /failed, .* on shop: ship order 4890 \(backend answered 500\)/,
      new RegExp(`approval show ${id}`),
    ]
    const places = [...open, /planned message, .*: How was it\?/, /^Wrote$/m].map((line) => out.search(line))
    assert.ok(
      places.every((place) => place > 0) && places.join() === places.toSorted((a, b) => a - b).join(),
      out,
    )
    assert.doesNotMatch(out, /order 7/)
    for (const command of out.matchAll(/`trivium ((?:dead-letter|approval|message) (?:show|list) [^`]+)`/g)) {
      const { code, err } = await site.run(String(command[1]).split(' '))
      assert.equal(code, 0, `${command[1]}: ${err}`)
    }
  })

  test('has the notes of colleagues in what is open, above the command', async () => {
    const text = 'Sales knows; Noémie calls back.'
    await daemon.invoke('conversation-note', { gateway: 'support', conversation: PETRA, text })
    const { out } = await run(PETRA)
    assert.match(out, /^ {4}note of .+ ago: Sales knows; Noémie calls back\.\n {4}`trivium /m)
    assert.equal(out.split('Sales knows').length, 2, 'once per conversation')
  })

  test('takes several identities, and has all with --json', async () => {
    const { out } = await run(`${PETRA},team:U024BE7LH`, '--json')
    const { identities, messages, gateways, first, newest, open, wrote } = JSON.parse(out)
    assert.deepEqual(identities, [`*:${PETRA}`, 'team:U024BE7LH'])
    assert.deepEqual([messages, gateways], [4, { shop: 2, support: 1, team: 1 }])
    assert.ok(first.at <= newest.at)
    const kinds = new Set(open.map(({ kind }: { kind: string }) => kind))
    for (const kind of ['approval', 'message', 'send']) assert.ok(kinds.has(kind), out)
    assert.deepEqual(
      wrote.map(({ text }: { text: string }) => text),
      ['hello', 'hello', 'ship order 4890', 'refund 12 EUR'],
    )
    const again = JSON.parse((await site.run(['person', 'open', `${PETRA},team:U024BE7LH`, '--json'])).out)
    const all = again.people.flatMap((person: { open: { id: string }[] }) => person.open)
    const ids = (things: { id: string }[]) => things.map(({ id }) => id).toSorted()
    assert.deepEqual(ids(open), ids(all))
  })

  test('`person open` uses the words of the list of people', async () => {
    const { out } = await site.run(['person', 'open', PETRA])
    assert.match(out, /^petra\.novak@mail\.example\tfailed\t/m)
    assert.match(out, /^petra\.novak@mail\.example\tapproval\t/m)
    assert.match(out, /^petra\.novak@mail\.example\tplanned\t/m)
  })

  test('`person open --kind` lists only these kinds of open items, with names and ids, oldest first', async () => {
    const rows = async (...args: string[]) => {
      const { out } = await site.run(['person', 'open', ...args])
      const [head = '', ...lines] = out.trimEnd().split('\n')
      return { head, lines: lines.map((line) => line.split('\t')) }
    }
    const { head, lines } = await rows('--kind', 'approval,Planned')
    assert.equal(head, 'identity\topen\tsince\tgateway\twhat\terror\tname\tid')
    assert.deepEqual([...new Set(lines.map(([, word]) => word))].toSorted(), ['approval', 'planned'])
    assert.deepEqual(lines[0]?.slice(0, 2), [PETRA, 'approval'])
    const [id] = JSON.parse(approvals).map((each: { id: string }) => each.id)
    assert.equal(lines[0]?.at(-1), id)
    const all = (await rows()).lines
    const firsts = new Map(all.toReversed().map(([who = '', , since = '']) => [who, since]))
    const oldest = [...firsts.keys()].toReversed().map(
      (who) =>
        all
          .filter(([one]) => one === who)
          .map(([, , since = '']) => since)
          .toSorted()[0],
    )
    assert.deepEqual(oldest, oldest.toSorted(), 'who waits longest is first')
    assert.deepEqual((await rows('novak', '--kind', 'approvals')).lines.length, 1)
    const none = await site.run(['person', 'open', '--kind', 'taken-over'])
    assert.match(none.err, /^Nothing is taken-over\./)
    const wrong = await site.run(['person', 'open', '--kind', 'angry'])
    assert.equal(wrong.code, 2)
    assert.match(wrong.err, /--kind: expected some of failed, unanswered, approval, taken-over/)
  })

  test('`person open --limit` says of how many people these are, and names the command for all', async () => {
    const { err } = await site.run(['person', 'open', '--limit', '1'])
    const { people, total, more, older } = JSON.parse(
      (await site.run(['person', 'open', '--limit', '1', '--json'])).out,
    )
    assert.deepEqual([people.length, more, older], [1, true, undefined])
    assert.ok(total > 1)
    assert.match(
      err,
      new RegExp(`with the first 1 of ${total} people\\.\\nAll: .*person open --limit ${total}`),
    )
    assert.doesNotMatch(err, /Only the newest/)
    assert.doesNotMatch((await site.run(['person', 'open'])).err, /first|All:/)
  })

  test('`person list --sort waits` begins with who waits longest for an answer or an approval', async () => {
    const { people } = JSON.parse((await site.run(['person', 'list', '--sort', 'waits', '--json'])).out)
    assert.equal(people[0].id, PETRA)
    const newest = JSON.parse((await site.run(['person', 'list', '--json'])).out)
    assert.notEqual(newest.people[0].id, PETRA)
    assert.deepEqual(new Set(people.map(Object)).size, newest.people.length)
  })

  test('a name of several people is an error that names them, and one of nobody where to look', async () => {
    const several = await run('petra')
    assert.equal(several.code, 2)
    assert.match(several.err, /2 people .*\n +`trivium person show petra\.berg@mail\.example`\n/)
    const nobody = await run('no', 'body')
    assert.equal(nobody.code, 2)
    assert.match(nobody.err, /`trivium message list --search 'no body'`/)
  })

  test('count, export and erase take a name of one person, and name the commands for several', async () => {
    const one = await site.run(['person', 'count', 'novak'])
    assert.match(one.err, /^"novak" is petra\.novak@mail\.example\.$/m)
    assert.match(one.out, /\d+ records/)
    for (const verb of ['count', 'export', 'erase']) {
      const several = await site.run(['person', verb, 'petra'])
      assert.equal(several.code, 2, verb)
      assert.match(several.err, new RegExp(`person ${verb} petra\\.berg@mail\\.example`))
    }
    const erased = await site.run(['person', 'erase', 'novak', '--confirm'])
    assert.equal(erased.code, 2)
    assert.match(erased.err, /`trivium person erase petra\.novak@mail\.example --confirm`/)
    assert.match((await site.run(['person', 'count', PETRA])).out, /\d+ records/)
  })

  test('a mistyped address leads to the one that is meant, and is neither exported nor erased', async (t) => {
    for (const verb of ['count', 'erase']) {
      const { out } = await site.run(['person', verb, 'petra.novak@mail.exampl'])
      assert.match(out, /Did you mean petra\.novak@mail\.example\?/, verb)
      assert.match(out, /No message of others/)
    }
    const output = join(temporaryDir(t), 'petra.jsonl')
    const wrong = ['petra.novak@mail.exampl', `support:${PETRA}x`]
    for (const who of wrong)
      for (const args of [
        ['person', 'export', who, '--output', output],
        ['person', 'erase', who, '--confirm'],
      ]) {
        const { code, err } = await site.run(args)
        assert.notEqual(code, 0, args.join(' '))
        assert.match(err, /There is no data about this person\. Did you mean petra\.novak@mail\.example\?/)
      }
    assert.equal(existsSync(output), false)
    const { exports } = JSON.parse((await site.run(['person', 'count', String(wrong[0]), '--json'])).out)
    assert.equal(exports, undefined)
    assert.equal(JSON.parse((await site.run(['job', 'list', '--json'])).out).length, 0)
  })

  test('the list has what is open with each, and only the messages of a time', async () => {
    const { out } = await site.run(['person', 'list'])
    assert.match(out, /^petra\.novak@mail\.example\t.*failed .*approval /m)
    assert.match((await site.run(['person', 'list', '--since', '1h'])).out, /^petra\.novak/m)
    const earlier = await site.run(['person', 'list', '--until', '2026-01-01'])
    assert.match(earlier.err, /No stored message of this time is from such a person/)
    const help = await site.run(['person', 'list', '--help'])
    assert.match(help.out, /\(last\)[\s\S]*\(messages\)[\s\S]*\(name\)/)
  })

  test('the noun alone is still the list, with its flags', async () => {
    for (const args of [['person'], ['person', '--limit', '9'], ['person', 'list']])
      assert.match((await site.run(args)).out, /^petra\.novak@mail\.example\t/m, args.join(' '))
    assert.match((await site.run(['person', '--help'])).out, /show <who\.\.\.>[\s\S]*Without a command/)
  })
})
