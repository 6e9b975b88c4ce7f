import type { Trouble } from '../../core/trouble.ts'

type Where = Trouble['where']
type Said = Pick<Trouble, 'title' | 'text' | 'todo'> & { count?: number; since?: number }

/** For lost, refused or stuck messages. */
export function error(code: Trouble['code'], where: Where, said: Said): Trouble {
  return trouble('error', code, where, said)
}

/** For problems that need attention. */
export function warning(code: Trouble['code'], where: Where, said: Said): Trouble {
  return trouble('warning', code, where, said)
}

/** For intended states that should not be forgotten. */
export function info(code: Trouble['code'], where: Where, said: Said): Trouble {
  return trouble('info', code, where, said)
}

function trouble(severity: Trouble['severity'], code: Trouble['code'], where: Where, said: Said): Trouble {
  const key = [code, ...Object.values(where)].join(' ')
  return { key, code, severity, where, count: 1, ...said }
}

export function firstLine(text = ''): string {
  return text.split('\n')[0] ?? ''
}

export function capital(text = 'It gave no reason'): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** A time of day with its zone, such as `12:05 UTC`. */
export function timeOfDay(at: number): string {
  return `${new Date(at).toISOString().slice(11, 16)} UTC`
}
