import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { spokenName } from '../../src/cli/grammar.ts'
import { readsOnly } from '../../src/cli/reads-only.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import { atTerminal, HAS_TERMINAL } from '../fixtures/at-terminal.ts'
import { openSite } from '../fixtures/daemon.ts'

const BIN = await bundledCommand()
const MESSAGES = 30

test('the commands that go to a pager, or can be repeated, are those that change nothing', () => {
  const wrong = builtInSkills
    .filter(({ name }) => spokenName(name) !== name && !name.endsWith('-wait'))
    .filter(({ name, metadata }) => {
      const hints = Object(metadata?.annotations)
      return readsOnly(spokenName(name).split(' ')) !== (hints.readOnlyHint === true)
    })
  assert.deepEqual(
    wrong.map(({ name }) => name),
    [],
  )
  for (const line of ['status', 'history order 4655', 'audit 4655', 'approval', 'route list --since 2h'])
    assert.ok(readsOnly(line.split(' ')), line)
  for (const line of [
    'top',
    'start',
    'tail',
    'history --follow',
    'message cli hello',
    'workbench add lamp',
    'doctor',
  ])
    assert.ok(!readsOnly(line.split(' ')), line)
})

describe('a list at a terminal', { timeout: 300_000, skip: !HAS_TERMINAL }, async () => {
  const site = openSite({ routes: 'routes: [{ name: rest, match: { gateway: cli }, skill: echo }]' })
  const daemon = await site.start()
  for (let at = 0; at < MESSAGES; at++) await daemon.invoke('event-emit', { topic: 'orders', data: { at } })
  const LINE = `event list orders --limit ${MESSAGES}`
  const shownAt = (line: string, env: Record<string, string> = {}, rows = 24, key = 'q') =>
    atTerminal(`stty rows ${rows} cols 80; exec '${process.execPath}' '${BIN}' ${line}`, {
      ...{ question: 'q quits', answer: key, cwd: site.dir },
      env: { ...process.env, PAGER: `sed 's/^/> /'`, ...env },
    })

  test('goes to the pager if it is longer than the terminal, with its notes', async () => {
    const { code, shown } = await shownAt(LINE)
    assert.equal(code, 0)
    assert.equal(shown.match(/^> \S+ .*"at":/gm)?.length, MESSAGES)
    assert.match((await shownAt('event list orders --limit 25')).shown, /^> Older ones: `trivium/m)
  })

  test('is printed if it fits, without a pager, and with --no-pager', async () => {
    for (const [line, env, rows] of [
      [LINE, {}, 60],
      [`${LINE} --no-pager`, {}, 24],
      [LINE, { TRIVIUM_PAGER: '' }, 24],
      [LINE, { PAGER: 'cat' }, 24],
      [LINE, { TERM: 'dumb' }, 24],
      [`${LINE} --json`, {}, 24],
      [`${LINE} < /dev/null`, {}, 24],
      [`${LINE} | tail -1`, {}, 24],
    ] as const) {
      const { code, shown } = await shownAt(line.replace(/^/, ''), env, rows)
      assert.equal(code, 0, line)
      assert.match(shown, /"at":|messageId|\{/, line)
      assert.doesNotMatch(shown, /^> /m, line)
    }
  })

  test('is printed if its pager cannot be started', async () => {
    const { code, shown } = await shownAt(LINE, { TRIVIUM_PAGER: 'no-such-pager' })
    assert.equal(code, 0)
    assert.match(shown, /"at":0/)
  })

  test('with --watch is shown again and again, until q or Ctrl-C', async () => {
    for (const key of ['q', '\u0003']) {
      const { code, shown } = await shownAt('status --watch 1', {}, 24, key)
      assert.equal(code, 0)
      assert.match(shown, /trivium status +every 1 s, \d\d:\d\d:\d\d UTC; q quits\r?\n/)
      assert.match(shown, /Trivium \S+ running since/)
    }
  })

  test('with --watch is refused without a terminal, with --json, and for an unknown name', async () => {
    const piped = await site.run(['status', '--watch'])
    assert.deepEqual([piped.code, piped.out], [2, ''])
    assert.match(piped.err, /--watch redraws a terminal\. In a script, repeat the command\./)
    const { code, shown } = await shownAt('status -w --json')
    assert.deepEqual([code, /does not go with --json/.test(shown)], [2, true])
    const wrong = await shownAt('message show 01a1fe02-9a5e-7000-8000-000b6b2d7e20 --watch')
    assert.equal(wrong.code, 1)
    assert.match(wrong.shown, /There is no message/)
    assert.match((await site.run(['status', '--watch=soon'])).err, /--watch takes seconds/)
    assert.equal((await site.run(['reload', '--watch'])).code, 2)
  })
})
