import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = 'routes: [{ name: rest, match: { gateway: cli }, skill: echo }]\n'

describe('an option or a word that a command does not have', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  await site.start()
  const errorOf = async (line: string, ...more: string[]) => {
    const { code, out, err } = await site.run([...line.split(' '), ...more])
    assert.deepEqual([code, out], [2, ''], line)
    return err
  }

  test('is answered with the option of the same meaning, and its value', async () => {
    for (const [line, form] of [
      ['message list --status done', '--outcome done'],
      ['message list --state=done', '--outcome done'],
      ['conversation list --status waiting', '--outcome waiting'],
      ['job list --status done', '--state done'],
      ['approval list --outcome denied', '--status denied'],
      ['route pause rest --ttl 1h', '--for 1h'],
      ['route pause rest --ttl tomorrow', '--for'],
      ['dead-letter list --text 502', '--search 502'],
      ['dead-letter list --from olsen', '--search olsen'],
      ['audit list --grep rest', '--search rest'],
      ['approval list --query rest', '--search rest'],
      ['audit --user ada', '--by ada'],
      ['message list -n 3', '--limit 3'],
      ['message list --from olsen', '--sender olsen'],
      ['message list --from 2h', '--since 2h'],
      ['gateway list -o json', '--json'],
    ] as const)
      assert.ok((await errorOf(line)).includes(` Did you mean ${form}?`), line)
    assert.match(await errorOf('audit list --grep', 'late orders'), /Did you mean --search 'late orders'\?/)
  })

  test('is answered with the options that take a text, if it is a text', async () => {
    const tail = await errorOf('tail h.olsen@fjordmail.example')
    assert.match(
      tail,
      /`trivium tail --sender h\.olsen@fjordmail\.example`.*`trivium tail --search h\.olsen/s,
    )
    assert.match(await errorOf('status olsen'), /status takes no arguments, unlike olsen\./)
  })

  test('is missing where one entry of a list is shown', async () => {
    for (const noun of ['audit', 'approval']) {
      const { code, err } = await site.run([noun, 'show'])
      assert.equal(code, 2)
      assert.match(err, new RegExp(`(?:entry|approval) is missing: .trivium ${noun} show ID`))
    }
  })

  test('is the text that a list searches for, as with its flag', async () => {
    for (const [words, flag] of [
      ['audit', '--search'],
      ['audit', '--what'],
      ['audit list', '--search'],
      ['audit list', '--what'],
      ['approval list', '--search'],
      ['approval list', '--text'],
      ['history', '--search'],
      ['history', '--grep'],
      ['conversation list', '--search'],
    ] as const) {
      const bare = await site.run([...words.split(' '), 'late', 'orders'])
      const flagged = await site.run([...words.split(' '), flag, 'late orders'])
      assert.deepEqual([bare.code, bare.err], [0, flagged.err.replace(`history ${flag}`, 'history')], words)
      assert.match(bare.err, /match --search 'late orders'|Nothing found/)
    }
    assert.match(await errorOf('approval 1890'), /To search: `trivium approval list 1890`/)
  })

  test('is answered with the options of the command if none has that meaning', async () => {
    assert.match(await errorOf('refusal list --limit 2'), /has no --limit\. It has --each, --gateway\.\n/)
    assert.match(await errorOf('schedule list --limit 2'), /unknown option '--limit'/)
    assert.match(await errorOf('message list --limt 2'), /Did you mean --limit\?/)
  })

  test('is answered with the command to paste, with the name that was given', async () => {
    assert.match(await errorOf('pause resume rest'), /`trivium gateway resume rest`, or the same with route/)
    assert.match(await errorOf('approval approve a1'), /`trivium approval decide a1 --approve`/)
    assert.match(
      await errorOf('approval reject a1'),
      /`trivium approval decide a1 --no-approve` --reason TEXT/,
    )
  })
})
