import { Help, type HelpConfiguration } from 'commander'

/** In less room (characters), a description has its own lines. */
const MIN_WIDTH = 24
const INDENT = ' '.repeat(6)

/**
 * Help that is readable in narrow terminals too: commander lets the terminal break long
 * descriptions within words.
 */
export const NARROW_HELP: HelpConfiguration = {
  minWidthToWrap: MIN_WIDTH,
  formatItem(this: Help, term: string, termWidth: number, description: string, helper: Help): string {
    const width = this.helpWidth ?? Number.POSITIVE_INFINITY
    if (!description || width - termWidth - INDENT.length >= MIN_WIDTH)
      return Help.prototype.formatItem.call(this, term, termWidth, description, helper)
    const lines = helper.boxWrap(description, width - INDENT.length).replaceAll('\n', `\n${INDENT}`)
    return `  ${term}\n${INDENT}${lines}`
  },
}
