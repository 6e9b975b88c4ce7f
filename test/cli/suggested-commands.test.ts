import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { commandOfTrouble } from '../../src/cli/top/trouble-command.ts'
import { TROUBLES } from '../../src/core/trouble.ts'
import { commandText } from '../../src/lib/command-text.ts'
import { openSite } from '../fixtures/daemon.ts'

/** Commands in backticks, as sources write them, and the commands of `commandText`. */
const QUOTED = /\\?`(?:npx )?trivium ([a-z][^`\\]*)\\?`/g
const COMPOSED = /commandText\(\s*'([a-z -]+)'/g
/** Pauses name their kind: `commandText(`${kind} resume`, name)`. */
const KINDS = ['gateway', 'route', 'skill', 'conversation', 'subscription', 'schedule']
/** Its texts in backticks are no commands. */
const KEY_DERIVATION = 'src/api/token.ts'
/** Commands whose help has the name of another noun. */
const NEW_NAMES: Readonly<Record<string, string>> = {
  'event seek': 'group seek',
  'conversation resume': 'conversation hand back',
}
/** Commands whose second word is an argument, or that print the main help. */
const WITHOUT_VERB = new Set(['message cli', 'help'])
const VERB = /^[a-z][a-z-]*$/
const MAX_VERBS = 3

/** All places of a trouble. */
const WHERE = {
  ...{ gateway: 'g', subscription: 's', queue: 'q', skill: 's', group: 'g', topic: 't' },
  ...{ code: 'c', pattern: 'p', messageId: 'm', road: 'dispatch' },
}

type Suggested = { file: string; words: string[]; flags: string[] }

function suggestedCommands(): Suggested[] {
  const files = globSync(['src/**/*.{ts,js}', 'transports/**/*.ts', 'skills/**/*.ts']).filter(
    (file) => file !== KEY_DERIVATION,
  )
  const found = files.flatMap((file) => {
    const text = readFileSync(file, 'utf8')
    return [QUOTED, COMPOSED].flatMap((pattern) =>
      [...text.matchAll(pattern)].map(([, command = '']) => ({ file, command })),
    )
  })
  const resumes = KINDS.map((kind) => ({ file: 'commandText', command: `${kind} resume` }))
  const opened = TROUBLES.flatMap((code) => {
    const { command } = commandOfTrouble({ code, where: WHERE })
    return command ? [{ file: `the trouble ${code}`, command: command.join(' ') }] : []
  })
  const all = [...found, ...resumes, ...opened].map(({ file, command }) => {
    // What follows a pipe is another program.
    const words = command.split('|')[0]?.trim().split(' ') ?? []
    const end = words.findIndex((word) => !VERB.test(word))
    const flags = words.flatMap((word) => /^--[a-z-]+/.exec(word)?.[0] ?? [])
    return { file, words: words.slice(0, end < 0 ? MAX_VERBS : Math.min(end, MAX_VERBS)), flags }
  })
  return [...new Map(all.map((one) => [JSON.stringify([one.words, one.flags]), one])).values()]
}

describe('commands that texts of Trivium suggest', { timeout: 300_000 }, () => {
  const site = openSite({ routes: 'routes: [{ name: all, skill: echo }]' })

  test('exist, with their flags', async () => {
    const suggested = suggestedCommands()
    assert.ok(suggested.length > 50, `only ${suggested.length} were found`)
    const wrong: string[] = []
    for (const { file, words, flags } of suggested) {
      const { code, out } = await site.run([...words, '--help'])
      const usage = /^Usage: (.*)$/m.exec(out)?.[1] ?? ''
      const verb = words.slice(0, 2).join(' ')
      const isVerb = WITHOUT_VERB.has(verb) || usage.startsWith(`trivium ${NEW_NAMES[verb] ?? verb}`)
      const isFound = code === 0 && isVerb
      const unknown = flags.filter((flag) => !out.includes(flag))
      if (!isFound || unknown.length > 0)
        wrong.push(`${file}: trivium ${words.join(' ')} ${flags.join(' ')} → ${code} ${usage} ${unknown}`)
    }
    assert.deepEqual(wrong, [])
  })

  test('quote names that a shell would interpret', () => {
    assert.equal(commandText('route resume', 'orders-2'), '`trivium route resume orders-2`')
    assert.equal(commandText('route resume', "it's late"), "`trivium route resume 'it'\\''s late'`")
  })
})
