import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inCommandWords, NOUNS, verbsOf } from '../../src/cli/grammar.ts'
import { SECTIONS } from '../../src/cli/main-help.ts'
import { SUMMARIES } from '../../src/cli/main-summaries.ts'
import { COMMAND_NAMES } from '../../src/cli/program.ts'
import { openSite } from '../fixtures/daemon.ts'

test('each command and noun is in one section of the main help', () => {
  const nouns = NOUNS.filter((noun) => verbsOf(noun).length > 0)
  assert.deepEqual(
    Object.values(SECTIONS).flat().toSorted(),
    [...new Set([...COMMAND_NAMES, ...nouns])].toSorted(),
  )
})

test('each command has one line in the main help at 80 columns', () => {
  const names = Object.values(SECTIONS).flat()
  assert.deepEqual(Object.keys(SUMMARIES).toSorted(), names.toSorted())
  for (const [name, summary] of Object.entries(SUMMARIES))
    assert.ok(summary.length <= 57, `${name}: ${summary}`)
})

test('descriptions name commands as one types them', () => {
  assert.equal(inCommandWords('as a job (see job-show)'), 'as a job (see `job show`)')
  assert.equal(inCommandWords('created by `subscription-create`'), 'created by `subscription create`')
  assert.equal(inCommandWords('the back-off and gateway-message'), 'the back-off and gateway-message')
})

describe('the help of the command line', { timeout: 300_000 }, async () => {
  const site = openSite({
    routes: `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none } } }
routes: [{ name: all, skill: echo }]
topics: { orders: { groups: { audit: { match: { event: paid }, max-deliveries: 3 } } } }
daemon: { retention: { topics: { orders: { max-age: 3d } } } }
`,
  })
  const daemon = await site.start()
  const run = async (...words: string[]) => (await site.run(words)).out

  test('has sections, and says what each noun is about', async () => {
    const help = await run('help')
    assert.match(help, /\nMessages and people:\n {2}message .*\nEvents:\n {2}event /s)
    assert.match(help, /^ {2}subscription +push subscriptions, which send events to URLs$/m)
    assert.doesNotMatch(help, /\[options\] {2}|^ {2}approval +list/m)
  })

  test('of each noun has the options of all commands', async () => {
    for (const noun of ['subscription', 'conversation', 'group', 'gateway'])
      assert.match(await run(noun, '--help'), /--data-dir <folder> [\s\S]*--json /, noun)
  })

  test('of a verb is the same with help before it', async () => {
    for (const words of [
      ['dead-letter', 'retry'],
      ['approval', 'show'],
    ])
      assert.equal(await run('help', ...words), await run(...words, '--help'))
  })

  test('of subscription show names the number of attempts that it shows', async () => {
    assert.match(await run('subscription', 'show', '--help'), /--limit <n> .*\(default: 15\)/)
  })

  test('of a noun begins with its list, and has no two verbs with the same text', async () => {
    const help = await run('approval', '--help')
    assert.match(help, /Commands:\n {2}list +lists [\s\S]*?\n {2}show +shows one request/)
    assert.match(await run('gateway', '--help'), /Commands:\n {2}list .*\n {2}show /)
  })

  test('of a noun has the options of its list or show, and each verb once', async () => {
    const cost = await run('cost', '--help')
    assert.match(cost, /Without a command, it is trivium cost show:\n[\s\S]*--by /)
    assert.doesNotMatch(cost, /--args|values/)
    assert.match(await run('trouble', '--help'), /^ {2}ack /m)
    assert.doesNotMatch(await run('trouble', '--help'), /^ {2}acknowledge /m)
    assert.doesNotMatch(await run('skill', 'pause', '--help'), /or use its flag/)
  })

  test('shows the arguments that need no flag', async () => {
    assert.match(await run('event', 'emit', '--help'), /Usage: trivium event emit \[options\] <topic>/)
    assert.match(await run('gateway', 'list', '--help'), /Usage: trivium gateway list \[options\]\n/)
  })

  test('group has commands of its own and skills, and group show tells all about one group', async () => {
    assert.match(await run('group', '--help'), /Usage: trivium group[\s\S]*\n {2}show [\s\S]*\n {2}seek /)
    for (const type of ['paid', 'sent']) await daemon.invoke('event-emit', { topic: 'orders', type })
    const shown = await run('group', 'show', 'audit')
    assert.match(shown, /^audit {2}consumer group of the topic orders: stalled\n/)
    assert.match(
      shown,
      /^unread +2 events\nlongest wait +\d+ (?:s|min), since .* UTC\nnext +.* UTC \(\d+ (?:s|min) ago\), removed in 3 d if nobody reads it: /m,
    )
    assert.match(shown, /^filter +event: paid\nretention +3 d, at most 1,000,000 events/m)
    assert.match(shown, /^deliveries +at most 3, then a dead letter\ndead letters +0$/m)
    const [{ match, maxDeliveries, retention }] = JSON.parse(await run('group', 'show', 'audit', '--json'))
    assert.deepEqual([match, maxDeliveries, retention.maxAge], [{ event: ['paid'] }, 3, 3 * 86_400_000])
    const { code, err } = await site.run(['group', 'show', 'orders'])
    assert.equal(code, 1)
    assert.match(err, /It is a topic: the group comes first/)
  })
})
