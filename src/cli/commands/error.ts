import { readFileSync } from 'node:fs'
import { catalogue, TriviumError } from '../../core/errors.ts'
import { lineTable } from '../../lib/line-table.ts'
import { didYouMean, quote } from '../../lib/nearest.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { type AddCommand, ownFile } from '../command.ts'
import { show } from '../terminal.ts'

/**
 * `trivium error [CODE]`: what an error means and what to do, from docs/errors.md, which is part of
 * the package.
 */
export const addError: AddCommand = (program, context) => {
  const command = program.command('error').description('explain error codes')
  const list = () => {
    const errors = Object.entries(catalogue).map(([code, { status, exit, retryable }]) => ({
      code,
      status,
      exit,
      retryable,
      meaning: explanationOf(code).meaning,
    }))
    show(context.terminal(), errors, () =>
      lineTable(
        [{ title: 'code' }, { title: 'HTTP' }, { title: 'exit' }, { title: 'meaning', least: 20 }],
        errors.map(({ code, status, exit, meaning }) => [code, status, exit, firstSentence(meaning)]),
      ),
    )
  }
  command.command('list').description('all error codes').action(list)
  command
    .command('show [code]', { isDefault: true })
    .description('what an error code means, and what to do')
    .action((code: string | undefined) => {
      if (code === undefined) return list()
      const found = Object.entries(catalogue).find(([name]) => name === code)
      if (!found)
        throw new TriviumError('not_found', {
          path: `error ${quote(code)}`,
          hint: didYouMean(code, Object.keys(catalogue)) || ' `trivium error list` lists them.',
        })
      const [, { status, exit, retryable, message }] = found
      const { meaning, todo } = explanationOf(code)
      show(context.terminal(), { code, status, exit, retryable, message, meaning, todo }, () =>
        [
          `${code}: HTTP ${status}, exit code ${exit}, ${retryable ? 'may be tried again' : 'do not repeat it unchanged'}`,
          meaning,
          `What to do: ${todo}`,
        ]
          .map(inParagraphs)
          .join('\n\n'),
      )
    })
}

function firstSentence(text: string): string {
  return /^.*?\.(?=\s|$)/s.exec(text)?.[0].replaceAll(/\s+/g, ' ') ?? text
}

/** The text of the section of a code, without its links. */
function explanationOf(code: string): { meaning: string; todo: string } {
  const page = readFileSync(ownFile('docs/errors.md'), 'utf8')
  const [, section = ''] = page.split(`\n### \`${code}\`\n`)
  const [text = ''] = section.split(/^##+ /m)
  const [meaning = '', todo] = text
    .replace(/^(?:HTTP|> Message:) .*$/gm, '')
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .split('**What to do:** ')
  if (todo === undefined)
    throw new TriviumError('internal', { reason: `docs/errors.md does not explain ${code}` })
  return { meaning: meaning.trim(), todo: todo.trim() }
}

/** Text whose paragraphs and list items have the width of the terminal. */
function inParagraphs(text: string): string {
  const blocks = text.split(/\n\n|\n(?=[-|\d`])/)
  return blocks
    .map((block) => (/^[|`]/.test(block) ? block : paragraph('', block.replaceAll(/\s+/g, ' '))))
    .join('\n')
}
