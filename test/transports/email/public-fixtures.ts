import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { replyFixtures } from '../../../ops/system-packages.ts'

/** A reply from the tests of a library, and the text that the library expects. */
export type Fixture = { family: string; name: string; input: string; isHtml?: boolean; expected: string }

const require = createRequire(import.meta.url)
const { compile }: { compile(source: string, options: object): string } = require('coffeescript')

/**
 * crisp-oss/email-reply-parser, MIT: a port of GitHub's library, with its mails. Its own result is
 * the expected text.
 */
export function crisp(): Fixture[] {
  const folder = dirname(require.resolve('email-reply-parser/package.json'))
  const Parser: new () => { read(mail: string): { getVisibleText(): string } } = require('email-reply-parser')
  return readdirSync(join(folder, 'test/fixtures')).map((file) => {
    const input = readFileSync(join(folder, 'test/fixtures', file), 'utf8')
    const expected = new Parser().read(input).getVisibleText()
    return { family: 'crisp', name: file.replace('.txt', ''), input, expected }
  })
}

/**
 * lever/planer, MIT: a port of mailgun/talon. Runs its tests, with the library replaced by
 * functions that record the cases.
 */
export function planer(): Fixture[] {
  return [...planerCases('planerText', false), ...planerCases('planerHtml', true)]
}

function planerCases(file: string, isHtml: boolean): Fixture[] {
  const folder = join(dirname(require.resolve('planer/package.json')), 'test')
  const recorded: Fixture[] = []
  let title = ''
  const record = (input: string, expected: string) => {
    const before = recorded.filter(({ name }) => name.startsWith(title)).length
    const name = before > 0 ? `${title} (${before + 1})` : title
    recorded.push({ family: 'planer', name, input, isHtml, expected })
  }
  const extract = (input: string) => ({ input })
  const modules: Record<string, unknown> = {
    chai: { expect: (actual: unknown) => expectation(actual, record) },
    fs: { readFileSync },
    jsdom: {
      JSDOM: class {
        window = {}
      },
    },
    path: { join },
    '../src/planer': { extractFromPlain: extract, extractFromHtml: extract },
  }
  const code = compile(readFileSync(join(folder, `${file}.test.coffee`), 'utf8'), { bare: true })
  runInNewContext(code, {
    require: (name: string) => modules[name],
    __dirname: folder,
    describe: (_: string, cases: () => void) => cases.call({}),
    before: (_: string, prepare: () => void) => prepare.call({}),
    it: (name: string, run: () => void) => {
      title = isHtml ? `html: ${name}` : name
      run.call({})
    },
  })
  return recorded
}

/**
 * Accepts any chain of words, like chai. `equal` records the expected text of an input, and never
 * fails.
 */
function expectation(actual: unknown, record: (input: string, expected: string) => void): object {
  const { input } = Object(actual)
  const chain: object = new Proxy(() => chain, {
    get: (_, word) => (word === 'equal' ? equal : chain),
  })
  const equal = (expected: unknown) => {
    if (typeof input === 'string' && typeof expected === 'string') record(input, expected)
  }
  return chain
}

/**
 * discourse/email_reply_trimmer, MIT, from the source package of Debian. Empty if that could not be
 * downloaded.
 */
export function discourse(): Fixture[] {
  const folder = replyFixtures()
  if (folder === undefined) return []
  const read = (which: string, file: string) => readFileSync(join(folder, 'test', which, file), 'utf8')
  return readdirSync(join(folder, 'test/emails')).map((file) => ({
    family: 'discourse',
    name: file.replace('.txt', ''),
    input: read('emails', file),
    expected: read('trimmed', file),
  }))
}
