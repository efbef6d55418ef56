// What to do about a connection that does not work, from the words of its problem. Never guesses more than the words say.

const REMEDIES: [RegExp, string][] = [
  [/certificate|tls|x509|self.signed|fingerprint/i, 'Its certificate is not trusted. Give the connection the right CA or fingerprint in the configuration.'],
  [/\b401\b|unauthori[sz]ed|authentication|token|password|credential/i, 'It does not accept the credentials. Make a new token there, put it where the configuration reads it, and start the server again.'],
  [/\b403\b|forbidden|permission|privilege/i, 'The credentials work but may not do this. Give its user the rights that the documentation lists.'],
  [/resolve|dns|name or service|no such host/i, 'Its name does not resolve. Check the address in the configuration and the DNS of this machine.'],
  [/refused|unreachable|no route|reset/i, 'Nothing answers there. Check that it runs, and the address, the port and the firewall.'],
  [/time[d ]?.?out|deadline/i, 'It does not answer in time. Check that it is up and not overloaded, and the network between.'],
  [/\b404\b|not found|version|unsupported/i, 'Something else answers there. Check the address and that its version is supported.'],
];

export function remedy(problem: string | null | undefined): string {
  const found = REMEDIES.find(([words]) => words.test(problem ?? ''));
  return found?.[1] ?? 'The doctor looks closer and says what to change.';
}
