import { escapeText } from 'entities/escape'
import type { TriviumError } from '../../core/errors.ts'

/** The page for a failed sign-in, with a link back. */
export function failurePage({ message }: TriviumError): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Sign-in · Trivium</title></head>
<body><main><h1>You are not signed in</h1><p>${escapeText(message)}</p><p><a href="/">Back to sign-in</a></p></main></body></html>`
}
