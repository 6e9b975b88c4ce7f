import { commandText } from './command-text.ts'

/** The command that ends a pause of `pause-list`. */
export function resumeCommand({ kind, name }: { kind?: unknown; name?: unknown }): string {
  if (kind === 'store') return '`trivium daemon resume`'
  return commandText(kind === 'conversation' ? 'conversation hand back' : `${kind} resume`, name)
}
