import type { Printers } from '../../core/readable.ts'
import { commandText } from '../../lib/command-text.ts'

export const printers: Printers = {
  'conversation-note': (note) =>
    `Added. Only colleagues see it; ${commandText('conversation note delete', Object(note).id)} deletes it.`,
  'conversation-note-delete': () => 'The note is deleted.',
}
