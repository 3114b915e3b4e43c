// On to the application; whoever has no scripts presses the button.
document.querySelector('form[data-form-post]').submit();
