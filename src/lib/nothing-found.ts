/** The text of the CLI and the console for a person without counted data. */
export const NOTHING_FOUND = 'Nothing was found about this person.'
export const NOT_COUNTED = 'People who are only named in the body of a webhook are not counted.'
