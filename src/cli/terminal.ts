import type { Json } from '../core/json.ts'
import { escapeUnpainted, paint } from '../lib/paint.ts'
import { sentencesInWidth } from '../lib/paragraph.ts'
import { type Printable, printed } from '../lib/printed.ts'
import { keysIn } from './keys.ts'
import { usageText } from './usage-text.ts'

/** The outputs of the program: stdout and stderr. */
export type Streams = Record<'out' | 'err', (text: string) => void>

export type Terminal = ReturnType<typeof createTerminal>

/**
 * The output of a command. Escapes control characters, so that text of strangers cannot control the
 * terminal. All output of commands must go through it, because no other code escapes them.
 */
export function createTerminal(json: boolean, { out, err }: Streams) {
  const isTerminal = process.stdout.isTTY === true
  return {
    json,
    isTerminal,
    out: (text: string) => out(escapeUnpainted(text)),
    err: (text: string) => err(escapeUnpainted(text)),
    /** Prints data whose bytes matter, such as those of a hash; escapes them for a terminal only. */
    data: (text: string) => out(isTerminal ? escapeUnpainted(text) : text),
    /**
     * Shows a full screen, drawn every second and when `draw` is called. `leave` restores the
     * previous content. `press` is called for each key, as `keysIn` names it, and returns false to
     * quit. `quit` is called then, and at Ctrl-C.
     */
    enterScreen(lines: () => readonly string[], quit: () => void, press: (key: string) => boolean) {
      // Overwrites each line in place, to avoid flicker.
      const draw = () => {
        const rows = process.stdout.rows || 24
        const shown = lines().slice(0, rows)
        // Lines are erased before they are written: after a line of the full width, the cursor is on
        // its last character.
        const text = shown.map((line) => `\x1b[K${escapeUnpainted(line)}`).join('\n')
        out(`\x1b[H${text}${shown.length < rows ? '\n\x1b[J' : ''}`)
      }
      // The alternate screen, without cursor and without automatic wrapping: long lines are cut and
      // cannot scroll the screen.
      out('\x1b[?1049h\x1b[?25l\x1b[?7l')
      const timer = setInterval(draw, 1_000)
      process.stdout.on('resize', draw)
      const keys = process.stdin.isTTY ? process.stdin.setRawMode(true) : undefined
      const onKey = (pressed: Buffer | string) => {
        if (keysIn(String(pressed)).some((key) => key === 'ctrl-c' || !press(key))) quit()
      }
      keys?.on('data', onKey)
      const leave = () => {
        clearInterval(timer)
        process.stdout.off('resize', draw)
        keys?.off('data', onKey).setRawMode(false).pause()
        out('\x1b[?7h\x1b[?25h\x1b[?1049l')
      }
      return { draw, leave }
    },
    /** Shows progress in place of the previous progress, at a terminal only. */
    progress(text: string) {
      if (!json && process.stderr.isTTY) err(`\r\x1b[K${escapeUnpainted(text)}`)
    },
  }
}

/**
 * Output settings of commander for help and usage errors. The errors begin with `trivium:` like all
 * errors. With `--json` they are left out here, because they are printed as JSON elsewhere.
 */
export function usageOutput({ json, out, err }: Terminal) {
  return {
    writeOut: out,
    writeErr: json ? () => {} : err,
    outputError(text: string, write: (text: string) => void) {
      const said = usageText(text.replace(/^error: /, ''))
      write(`${paint('red', 'trivium:', process.stderr)} ${said}`)
    },
  }
}

/** Keeps usage errors, as there may be a better one. */
export function heldBack({ json, err }: Terminal) {
  const texts: string[] = []
  return {
    write: (text: string) => void texts.push(text),
    release() {
      if (!json) err(texts.join(''))
    },
  }
}

/** Prints a hint that a command has a new name. */
export function hintAt({ json, err }: Terminal, oldName: string, newName: string): void {
  if (!json) err(`(${oldName} is now called: ${newName})\n`)
}

/** Prints a value: as JSON with `--json`, or else as formatted by `human`. */
export function show(terminal: Terminal, value: unknown, human: () => Printable): void {
  if (terminal.json) {
    terminal.out(`${JSON.stringify(value)}\n`)
    return
  }
  const { text, notes } = printed(human())
  if (text !== '' || notes.length === 0) terminal.out(`${text}\n`)
  if (notes.length > 0) terminal.err(`${notes.map(sentencesInWidth).join('\n')}\n`)
}

/** Formats any value: text unchanged, everything else as indented JSON. */
export function pretty(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
