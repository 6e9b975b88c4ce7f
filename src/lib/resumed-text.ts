import { counted } from './counted.ts'

/** What was resumed. `label`: what people call a conversation. */
export function resumedText({ kind, name, label = name }: { kind: string; name: string; label?: string }) {
  if (kind === 'store') return 'Everything is resumed.'
  if (kind === 'conversation') return `${label === name ? `The conversation ${name}` : label} is handed back.`
  return `The ${kind} ${label} is resumed.`
}

/** How many messages had waited. `rest`: what became of them. */
export function waitedText(many: number, rest: string, isCut = false): string {
  if (many === 0) return 'No message had waited.'
  return `${counted(`${many}${isCut ? '+' : ''}`, 'message')} had waited${rest}.`
}
