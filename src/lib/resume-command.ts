import { commandText } from './command-text.ts'

/** The command that ends a pause of `pause-list`. */
export function resumeCommand({ kind, name }: { kind?: unknown; name?: unknown }): string {
  return kind === 'store' ? '`trivium daemon resume`' : commandText(`${kind} resume`, name)
}
