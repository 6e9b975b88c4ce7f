import { TriviumError } from '../../core/errors.ts'
import { missingPackages, outdatedPackages, PART_NAMES, PARTS, type Part } from '../../core/parts.ts'
import { didYouMean, quote } from '../../lib/nearest.ts'
import { table } from '../../lib/text-table.ts'
import type { AddCommand } from '../command.ts'
import { installParts } from '../install-parts.ts'
import { needsFor } from '../needs.ts'
import { show } from '../terminal.ts'

/** An administrator installs parts in a shell without the variables of the service. */
const WITHOUT_VARIABLES = { withoutVariables: true }

export const addParts: AddCommand = (program, context) => {
  const parts = program
    .command('parts')
    .description('the optional parts: which are installed, and which are needed')
    .action(async () => {
      const needs = await needsFor(context.environs(), WITHOUT_VARIABLES)
      const list = PART_NAMES.map((name) => ({
        name,
        what: PARTS[name].what,
        installed: missingPackages(name).length === 0,
        outdated: outdatedPackages(name),
        neededBy: needs[name] ?? [],
      }))
      show(context.terminal(), { parts: list }, () =>
        table(
          ['part', '', 'needed by', 'for'],
          list.map(({ name, what, neededBy }) => [name, stateOf(name, neededBy), neededBy.join('\n'), what]),
        ),
      )
    })
  parts
    .command('install [names...]')
    .description(
      'install parts in their tested versions, with the package manager of the project; without names, those that routes.yaml and the skills need',
    )
    .action(async (names: string[]) => {
      const needs = names.length > 0 ? {} : await needsFor(context.environs(), WITHOUT_VARIABLES)
      const wanted = names.length > 0 ? names.map(partOf) : PART_NAMES.filter((part) => needs[part])
      const terminal = context.terminal()
      const installed = await installParts(wanted, (line) => terminal.err(`${line}\n`))
      show(terminal, { installed }, () =>
        installed.length > 0 ? `Installed: ${installed.join(', ')}.` : 'Nothing to install.',
      )
    })
}

function stateOf(part: Part, neededBy: readonly string[]): string {
  if (missingPackages(part).length > 0) return neededBy.length > 0 ? 'MISSING' : 'not installed'
  return outdatedPackages(part).length > 0 ? 'installed, older than tested' : 'installed'
}

function partOf(name: string): Part {
  const found = PART_NAMES.find((one) => one === name)
  if (!found)
    throw new TriviumError('not_found', { path: `part ${quote(name)}`, hint: didYouMean(name, PART_NAMES) })
  return found
}
