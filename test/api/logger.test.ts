import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLogger } from '../../src/api/logger.ts'

function logging(options: { secrets?: string[]; pretty?: boolean }) {
  const lines: string[] = []
  const log = createLogger({
    level: 'info',
    secrets: () => options.secrets ?? [],
    destination: { write: (line) => lines.push(line) },
    pretty: options.pretty ?? false,
  })
  return { log, text: () => lines.join('') }
}

describe('the log', () => {
  test('masks fields that name secrets, and secret values anywhere, even escaped', () => {
    for (const pretty of [false, true]) {
      // A JSON line escapes quotes and backslashes.
      const { log, text } = logging({ secrets: ['hunter2-hunter2', 'pa"ss\\word'], pretty })
      log.info(
        { token: 'abc-token', options: { imap: { pass: 'abc-pass' } } },
        'started with hunter2-hunter2',
      )
      log.error({ err: new Error('refused: hunter2-hunter2') }, 'no')
      log.info({ detail: 'it was pa"ss\\word' }, 'and pa"ss\\word')
      assert.doesNotMatch(text(), /abc-token|abc-pass|hunter2|word/)
      assert.match(text(), /\[secret\]/)
    }
  })

  test('writes JSON lines, or with `pretty` one readable line with the fields', () => {
    const json = logging({ secrets: ['ends-in\\'] })
    json.log.warn({ gateway: 'demo' }, 'hello ends-in\\')
    assert.equal(JSON.parse(json.text()).gateway, 'demo')
    const pretty = logging({ pretty: true })
    pretty.log.child({ gateway: 'demo' }).warn({ text: 'two words' }, 'hello')
    assert.match(pretty.text(), /^\d\d:\d\d:\d\d warn {2}hello {2}gateway=demo text="two words"\n$/)
  })

  test('names a cause once, whether or not the message has it already', () => {
    const cause = new Error('database is down', { cause: new Error('connect ECONNREFUSED') })
    for (const [message, shown] of [
      ['The skill failed: database is down', 'The skill failed: database is down: connect ECONNREFUSED'],
      ['The skill failed', 'The skill failed: database is down: connect ECONNREFUSED'],
    ] as const) {
      const { log, text } = logging({})
      log.error({ err: new Error(message, { cause }) }, 'no')
      assert.equal(JSON.parse(text()).err.message, shown)
    }
  })
})
