import { counted } from './counted.ts'

/** What was resumed. `label`: what people call a conversation. */
export function resumedText({ kind, name, label = name }: { kind: string; name: string; label?: string }) {
  if (kind === 'store') return 'Everything is resumed.'
  if (kind === 'conversation') return `${label === name ? `The conversation ${name}` : label} is handed back.`
  return `The ${kind} ${label} is resumed.`
}

/**
 * How many messages and runs of schedules and events had waited. `rest`: what became of the messages.
 */
export function waitedText(many: number, rest: string, { isCut = false, runs = 0 } = {}): string {
  const messages = many > 0 ? `${counted(`${many}${isCut ? '+' : ''}`, 'message')} had waited${rest}.` : ''
  const others = runs > 0 ? `${runsText(runs)} had waited, and ${runs === 1 ? 'runs' : 'run'} now.` : ''
  return [messages, others].filter(Boolean).join(' ') || 'No message had waited.'
}

/** How many runs of schedules and events wait. `rest`: what happens to them. */
export function heldRunsText(runs: number, rest = ''): string {
  return `${runsText(runs)} ${runs === 1 ? 'waits' : 'wait'}${rest}.`
}

/** `1 run of a schedule or event`. */
export function runsText(runs: number): string {
  return runs === 1
    ? '1 run of a schedule or event'
    : `${runs.toLocaleString('en')} runs of schedules or events`
}
