// The theme's variables as a style sheet of their own. The page allows no inline styles (`style-src 'self'`), and Mantine
// would write a `<style>` element: so it is told not to, and a constructed sheet does the same.

import { convertCssVariables, DEFAULT_THEME, defaultCssVariablesResolver, mergeMantineTheme } from '@mantine/core';

import { theme } from '../theme';

/** Puts the theme's variables on the page. Once, before anything is drawn. */
export function adoptTheme(): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(convertCssVariables(defaultCssVariablesResolver(mergeMantineTheme(DEFAULT_THEME, theme)), ':root'));
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}
